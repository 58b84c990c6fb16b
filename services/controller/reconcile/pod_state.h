// Reads from a pod's status what it says about the agent in it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace eidolon::controller::reconcile {

// Annotation on pods: which server each completion index stands for, as a JSON list; without it
// they are the same. Only servers with a rank that runs have a pod.
inline constexpr char kServersAnnotation[] = "eidolon.dev/servers";
inline constexpr std::uint32_t kNoServer = UINT32_MAX;

// Event that took a pod away and was not the program in it: an eviction, a lost node, a deletion.
struct Disruption {
  std::string reason;   // Of a condition.
  std::string message;  // A half sentence: "was evicted ...".
};

struct PodState {
  std::uint32_t server = 0;  // That it stands for; kNoServer: none, by its annotation.
  std::string name, ip;
  // Set when the pod has ended, as a half sentence: "was killed by signal 9 (OOMKilled)".
  std::optional<std::string> ended;
  // Set when the kernel ended it for lack of memory, as a sentence with the limit; else empty.
  std::string memory_kill;
  // Why it does not run yet; empty when it does, or nothing is known.
  std::string waiting_reason, waiting_message;
  std::optional<Disruption> disruption;
  std::string deleted_at;  // RFC 3339, the end of its grace; empty: nobody deletes it.
  std::string started_at;  // RFC 3339, when its node took it; empty: not yet.
};

PodState InspectPod(const nlohmann::json& pod);

// A wait that no time heals, as the reason of a condition; empty: it may heal.
std::string HopelessReason(const PodState& pod);
// Returns whether it waits for an image that could not be pulled, by a failure that may pass.
bool WaitsForImage(const PodState& pod);
// What a user can do about it.
std::string HopelessMessage(const PodState& pod);

}  // namespace eidolon::controller::reconcile
