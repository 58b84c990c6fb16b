#include "services/controller/kube_host/children.h"

#include <algorithm>
#include <string>

#include "services/base/text.h"
#include "services/controller/kube_host/object_text.h"

namespace eidolon::controller::kube_host {

using base::StrCat;
using nlohmann::json;

namespace {

kube::Refusal NameTaken(const json& child, const json& present) {
  const json& owner = child["metadata"]["ownerReferences"][0];
  const std::string ours =
      StrCat(owner["kind"].get<std::string>(), " '", owner["name"].get<std::string>(), "'");
  const bool is_going = present["metadata"].contains("deletionTimestamp");
  return {.status = 409,
          .reason = kNameTaken,
          .message = StrCat(
              child["kind"].get<std::string>(), " '", child["metadata"]["name"].get<std::string>(),
              "' of namespace '", child["metadata"]["namespace"].get<std::string>(),
              "' exists and is not controlled by ", ours,
              is_going ? ": it is being deleted"
                       : ": delete it, or delete " + ours + " and create it under another name"),
          .details = {}};
}

// Fields that were given with the creation belong to an updater; the applier would never take one
// of them away again. Makes the updater's fields the applier's, as client-go's csaupgrade does.
kube::Answer<void> PassFieldsToApplier(kube::Client* client, const json& present) {
  const json& metadata = present["metadata"];
  json fields = metadata.value("managedFields", json::array());
  const auto is_own = [](const json& entry, const char* operation) {
    return entry.value("manager", "") == kube::kFieldManager &&
           entry.value("operation", "") == operation && entry.value("subresource", "").empty();
  };
  const auto updated =
      std::ranges::find_if(fields, [&](const json& entry) { return is_own(entry, "Update"); });
  if (updated == fields.end()) return {};
  const bool is_applied =
      std::ranges::any_of(fields, [&](const json& entry) { return is_own(entry, "Apply"); });
  if (is_applied) {
    fields.erase(updated);
  } else {
    (*updated)["operation"] = "Apply";
  }
  const json patch = {{"metadata",
                       {{"uid", metadata["uid"]},
                        {"resourceVersion", metadata["resourceVersion"]},
                        {"managedFields", std::move(fields)}}}};
  const auto passed = client->MergePatch(kube::ResourceOf(present), kube::KeyOf(present), patch);
  if (!passed) return std::unexpected(passed.error());
  return {};
}

}  // namespace

kube::Answer<json> ApplyChild(kube::Client* client, const json& child) {
  const kube::Resource& resource = kube::ResourceOf(child);
  const auto present = client->Get(resource, kube::KeyOf(child));
  if (!present && !present.error().IsNotFound()) return std::unexpected(present.error());
  // Somebody who is quicker makes this a conflict, and the next look decides.
  if (!present) return client->Create(resource, child);
  if (OwnerUidOf(*present) != OwnerUidOf(child)) {
    return std::unexpected(NameTaken(child, *present));
  }
  if (auto passed = PassFieldsToApplier(client, *present); !passed) {
    return std::unexpected(passed.error());
  }
  // The object that was looked at, and no other of its name.
  json wanted = child;
  wanted["metadata"]["uid"] = UidOf(*present);
  auto applied = client->Apply(wanted);
  // Of an object that has taken its place since, the API server says that a uid cannot be changed.
  constexpr int kInvalid = 422;
  if (!applied && applied.error().status == kInvalid &&
      applied.error().message.find("metadata.uid") != std::string::npos) {
    applied.error().status = 409;
    applied.error().reason = "Conflict";
  }
  return applied;
}

}  // namespace eidolon::controller::kube_host
