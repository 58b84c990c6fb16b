// Objects that the controller makes for a SimulationJob or a SimulatedCluster. Their names follow
// from the owner's, and anybody may have used such a name before: an object counts as ours only if
// its controlling owner reference has the owner's uid, and nothing else is changed.
#pragma once

#include <nlohmann/json.hpp>

#include "services/controller/kube/client.h"

namespace eidolon::controller::kube_host {

// Reason of the refusal when the name of a child is that of an object that is not ours. Its message
// says which and what to do about it.
inline constexpr char kNameTaken[] = "NameTaken";

// Creates the child, or brings the one that is there to what `child` says (server-side apply).
// Requires: its first owner reference is the controlling one.
kube::Answer<nlohmann::json> ApplyChild(kube::Client* client, const nlohmann::json& child);

}  // namespace eidolon::controller::kube_host
