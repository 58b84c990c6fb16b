// The life of a job as conditions, as Kubernetes keeps them: a list keyed by type, each with
// status, reason and message. Reasons are part of the API; all of them are listed here.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eidolon::controller::job {

// Condition types.
namespace condition {
inline constexpr std::string_view kAccepted = "Accepted";
inline constexpr std::string_view kScheduled = "Scheduled";
inline constexpr std::string_view kRunning = "Running";
inline constexpr std::string_view kComplete = "Complete";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kInterrupted = "Interrupted";
// What ended an attempt that was not the program; it stays, so that a prediction shows it.
inline constexpr std::string_view kRetried = "Retried";
}  // namespace condition

namespace reason {
// Accepted.
inline constexpr std::string_view kValid = "Valid";
// Scheduled: waiting for its turn, waiting for the user, or given its servers.
inline constexpr std::string_view kQueued = "Queued";
inline constexpr std::string_view kSuspended = "Suspended";
inline constexpr std::string_view kPlaced = "Placed";
// A folded job starts again with classes that it has shown to have.
inline constexpr std::string_view kClassesFound = "ClassesFound";
inline constexpr std::string_view kWaitingForServices = "WaitingForServices";
// The API server takes no such pod now; nodes have no room for one.
inline constexpr std::string_view kQuotaExceeded = "QuotaExceeded";
inline constexpr std::string_view kAdmissionUnavailable = "AdmissionUnavailable";
inline constexpr std::string_view kUnschedulable = "Unschedulable";
// An object that the job or the cluster needs has a name that is in use.
inline constexpr std::string_view kNameTaken = "NameTaken";
// Scheduled or Running: what comes next is known, but cannot be stored.
inline constexpr std::string_view kWaitingForStore = "WaitingForStore";
// Running: agents are starting, at work, ending the command; or the job is over.
inline constexpr std::string_view kStarting = "Starting";
inline constexpr std::string_view kStarted = "Started";
inline constexpr std::string_view kStopping = "Stopping";
inline constexpr std::string_view kFinished = "Finished";
// Complete.
inline constexpr std::string_view kIterationsMeasured = "IterationsMeasured";
inline constexpr std::string_view kCommandEnded = "CommandEnded";
// Failed.
inline constexpr std::string_view kCommandFailed = "CommandFailed";
inline constexpr std::string_view kOutOfMemory = "OutOfMemory";
inline constexpr std::string_view kDeadlock = "Deadlock";
inline constexpr std::string_view kCollectiveMismatch = "CollectiveMismatch";
inline constexpr std::string_view kRankLost = "RankLost";
inline constexpr std::string_view kAgentLost = "AgentLost";
inline constexpr std::string_view kServiceLost = "ServiceLost";
inline constexpr std::string_view kUnsupportedCall = "UnsupportedCall";
inline constexpr std::string_view kRingDamaged = "RingDamaged";
inline constexpr std::string_view kNoIterations = "NoIterations";
// Reasons of a sweep: Complete, Failed.
inline constexpr std::string_view kPointsPredicted = "PointsPredicted";
inline constexpr std::string_view kNoPrediction = "NoPrediction";
inline constexpr std::string_view kStuck = "Stuck";
inline constexpr std::string_view kSessionLost = "SessionLost";
// Of a folded job: ranks of one class are not alike.
inline constexpr std::string_view kRanksDiffer = "RanksDiffer";
inline constexpr std::string_view kDeadlineExceeded = "DeadlineExceeded";
inline constexpr std::string_view kClusterNotFound = "ClusterNotFound";
inline constexpr std::string_view kInvalidSpec = "InvalidSpec";
inline constexpr std::string_view kStartFailed = "StartFailed";
// What was stored of the job does not match its checksum.
inline constexpr std::string_view kRecordDamaged = "RecordDamaged";
inline constexpr std::string_view kPodSecurityViolation = "PodSecurityViolation";
inline constexpr std::string_view kPodRefused = "PodRefused";
// Kubernetes cannot store the job, or an object that it needs.
inline constexpr std::string_view kTooLarge = "TooLarge";
inline constexpr std::string_view kImageNotFound = "ImageNotFound";
inline constexpr std::string_view kBackoffLimitExceeded = "BackoffLimitExceeded";
// Retried.
inline constexpr std::string_view kPodEvicted = "PodEvicted";
inline constexpr std::string_view kPodPreempted = "PodPreempted";
inline constexpr std::string_view kPodDeleted = "PodDeleted";
inline constexpr std::string_view kPodRejected = "PodRejected";
inline constexpr std::string_view kNodeLost = "NodeLost";
inline constexpr std::string_view kImagePullFailed = "ImagePullFailed";
// Interrupted.
inline constexpr std::string_view kControllerRestarted = "ControllerRestarted";
inline constexpr std::string_view kControllerStopped = "ControllerStopped";
inline constexpr std::string_view kCancelled = "Cancelled";
}  // namespace reason

struct Condition {
  std::string type;
  bool value = false;  // "True" or "False"; false while it is unknown.
  std::string reason;
  std::string message;
  std::string last_transition_time;  // RFC 3339; moves when `value` changes.
  std::int64_t observed_generation = 1;
  bool is_unknown = false;  // "Unknown".

  bool operator==(const Condition&) const = default;
};

// State of a job, derived from its conditions; also the word shown in tables.
enum class Phase { kPending, kRunning, kComplete, kFailed, kInterrupted };
std::string_view Name(Phase phase);
inline bool IsOver(Phase phase) { return phase != Phase::kPending && phase != Phase::kRunning; }

// The conditions of one job, at most one per type, in order of first appearance; but Retried, which
// tells of the past, comes before all that tell where the job stands.
class Conditions {
 public:
  Conditions() = default;
  // Reads back what ToJson wrote; entries of another shape are left out.
  static Conditions FromJson(const nlohmann::json& list);

  // Adds or replaces a condition; its transition time stays when only reason or message changed. A
  // message that is too long for an object of Kubernetes is cut.
  void Set(Condition condition);
  const Condition* Find(std::string_view type) const;
  bool IsTrue(std::string_view type) const;
  Phase phase() const;
  nlohmann::json ToJson() const;

 private:
  std::vector<Condition> list_;
};

}  // namespace eidolon::controller::job
