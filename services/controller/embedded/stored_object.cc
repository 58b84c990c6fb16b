#include "services/controller/embedded/stored_object.h"

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
  return parsed.is_discarded() ? json::object() : parsed;
}

}  // namespace eidolon::controller::embedded
