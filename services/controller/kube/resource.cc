#include "services/controller/kube/resource.h"

#include <nlohmann/json.hpp>

#include "services/base/check.h"

namespace eidolon::controller::kube {
namespace {

constexpr const Resource* kAll[] = {
    &kSimulationJobs,  &kSimulatedClusters, &kSimulationSweeps, &kJobs,   &kPods,
    &kServices,        &kDeployments,       &kEvents,           &kLeases, &kSecrets,
    &kNetworkPolicies, &kTokenReviews,      &kAccessReviews};

}  // namespace

const Resource& ResourceOf(const nlohmann::json& object) {
  const auto& kind = object.at("kind").get_ref<const std::string&>();
  const auto& api_version = object.at("apiVersion").get_ref<const std::string&>();
  const Resource* found = nullptr;
  for (const Resource* resource : kAll) {
    if (resource->kind == kind && resource->api_version == api_version) {
      found = resource;
    }
  }
  CHECK(found != nullptr);
  return *found;
}

ObjectKey KeyOf(const nlohmann::json& object) {
  const nlohmann::json& metadata = object.at("metadata");
  return {metadata.value("namespace", ""), metadata.value("name", "")};
}

std::string PathOf(const Resource& resource, const ObjectKey& key) {
  const bool core = resource.api_version.find('/') == std::string_view::npos;
  std::string path = core ? "/api/" : "/apis/";
  path += resource.api_version;
  if (resource.namespaced && !key.name_space.empty()) path += "/namespaces/" + key.name_space;
  path += "/";
  path += resource.plural;
  if (!key.name.empty()) path += "/" + key.name;
  return path;
}

}  // namespace eidolon::controller::kube
