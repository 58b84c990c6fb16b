#include "services/controller/embedded/stored_object.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/controller/job/condition.h"
#include "services/controller/place/token.h"

namespace eidolon::controller::embedded {

using nlohmann::json;

namespace {

constexpr std::size_t kNameBytesMax = 63;

}  // namespace

std::string NewNameOf(const job::Metadata& metadata) {
  if (!metadata.name.empty()) return metadata.name;
  return metadata.generate_name.substr(0, kNameBytesMax - 6) + place::MakeToken(3);
}

json AcceptedDocument(const std::string& name_space, const std::string& name,
                      const json& document) {
  json accepted = {{"apiVersion", document["apiVersion"]},
                   {"kind", document["kind"]},
                   {"metadata", {{"name", name}, {"namespace", name_space}, {"generation", 1}}},
                   {"spec", document["spec"]}};
  for (const char* field : {"labels", "annotations"}) {
    const auto found = document["metadata"].find(field);
    if (found != document["metadata"].end() && !found->is_null()) {
      accepted["metadata"][field] = *found;
    }
  }
  return accepted;
}

json ParseStored(const std::string& text) {
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  CHECK(parsed.is_object());
  return parsed;
}

std::string LabelOf(const json& document, const char* label) {
  const json& metadata = document.at("metadata");
  const auto labels = metadata.find("labels");
  if (labels == metadata.end() || !labels->is_object()) return "";
  const auto found = labels->find(label);
  return found == labels->end() || !found->is_string() ? "" : found->get<std::string>();
}

std::pair<std::string, std::string> ShownName(const DamagedObject& object) {
  if (job::IsNamespaceName(object.name_space) && job::IsDnsLabel(object.name)) {
    return {object.name_space, object.name};
  }
  std::string name = "damaged-" + object.record;
  std::ranges::replace(name, ' ', '-');
  return {"default", name};
}

json ShownDocument(const DamagedObject& object) {
  json stored = json::parse(object.document_text, nullptr, /*allow_exceptions=*/false);
  if (stored.is_object() && stored.contains("metadata") && stored["metadata"].is_object()) {
    return stored;
  }
  const auto [name_space, name] = ShownName(object);
  return {{"apiVersion", job::kApiVersion},
          {"kind", object.kind},
          {"metadata", {{"name", name}, {"namespace", name_space}}},
          {"spec", json::object()}};
}

json ShownStatus(const DamagedObject& object, const std::string& folder, const std::string& now) {
  job::Conditions conditions;
  conditions.Set(
      {std::string(job::condition::kFailed), true, std::string(job::reason::kRecordDamaged),
       base::StrCat("the stored record ", object.record, " is damaged: ", object.damage,
                    "; nothing of its status is shown. Delete the object, or stop the server and "
                    "run 'eidolon doctor --store ",
                    folder, " --repair', which moves the record to ", folder, "/damaged"),
       now});
  return {{"phase", job::Name(job::Phase::kFailed)}, {"conditions", conditions.ToJson()}};
}

}  // namespace eidolon::controller::embedded
