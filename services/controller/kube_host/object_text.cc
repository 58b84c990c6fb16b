#include "services/controller/kube_host/object_text.h"

#include "services/base/text.h"

namespace eidolon::controller::kube_host {

using nlohmann::json;

std::string TextOf(const char* kind, const kube::ObjectKey& key) {
  return base::StrCat(kind, "/", key.name_space, "/", key.name);
}

std::int64_t VersionOf(const json& object) {
  return base::ParseInteger(object["metadata"].value("resourceVersion", "0")).value_or(0);
}

std::string UidOf(const json& object) { return object["metadata"].value("uid", ""); }

std::string OwnerUidOf(const json& object) {
  for (const json& owner : object["metadata"].value("ownerReferences", json::array())) {
    if (owner.value("controller", false)) return owner.value("uid", "");
  }
  return "";
}

bool IsOver(const json& job) {
  const std::string phase = job.value("status", json::object()).value("phase", "");
  return phase == "Complete" || phase == "Failed" || phase == "Interrupted";
}

}  // namespace eidolon::controller::kube_host
