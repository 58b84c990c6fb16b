// Reads fields of the API server's objects that several places need.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "services/controller/kube/resource.h"

namespace eidolon::controller::kube_host {

// Key of an object in the work queue: "job/team/train".
std::string TextOf(const char* kind, const kube::ObjectKey& key);
std::string UidOf(const nlohmann::json& object);
// Its resourceVersion, which grows in time (KEP-5504).
std::int64_t VersionOf(const nlohmann::json& object);
// Uid of the object's controlling owner; empty without one.
std::string OwnerUidOf(const nlohmann::json& object);
// Returns whether the status of a SimulationJob says that it has ended.
bool IsOver(const nlohmann::json& job);

}  // namespace eidolon::controller::kube_host
