// What a controller does about a SimulationSweep, as a pure function: from its status and its jobs
// to the jobs that it should have besides and the status it should show. The same observation gives
// the same plan, and jobs have names that follow from the sweep's: a controller that was killed
// goes on where it was, and none makes a job twice.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/sweep/sweep.h"

namespace eidolon::controller::sweep {

// Labels of a sweep's jobs.
inline constexpr char kSweepLabel[] = "eidolon.dev/sweep";
inline constexpr char kSweepUidLabel[] = "eidolon.dev/sweep-uid";
inline constexpr char kReplayLabel[] = "eidolon.dev/sweep-replay";
// How often the job of a point is begun again after its controller was lost.
inline constexpr int kSweepRestartsMax = 3;

struct ObservedSweep {
  const nlohmann::json& sweep;  // With metadata.name, uid, and the status, if it has one.
  const SweepSpec& spec;
  // Its jobs by name, as summaries (controller/job/summary.h) or whole.
  std::map<std::string, nlohmann::json> jobs;
  // Jobs that cannot be created, by name: why.
  std::map<std::string, std::string> refused;
  // The file that a job which is over has left; empty: none. No function: there are no recordings.
  std::function<std::string(const std::string& job)> recording_of;
  std::string trouble;  // What keeps jobs from being created now; empty: nothing.
  std::string now;      // RFC 3339.
};

struct SweepPlan {
  std::vector<nlohmann::json> create;    // Whole jobs; one that exists already is fine.
  std::optional<nlohmann::json> status;  // Nothing: it is right.
};

SweepPlan PlanSweep(const ObservedSweep& observed);
// The status of a sweep that cannot be carried out; nothing: it says so already.
std::optional<nlohmann::json> RefuseSweep(const nlohmann::json& sweep,
                                          const job::Problems& problems, const std::string& now);

// Returns whether its status says that all points are known, or that there will be none.
bool IsSweepOver(const nlohmann::json& sweep);
// Reason why such a sweep takes no change of its spec.
inline constexpr char kOverText[] =
    "the sweep is over: delete it and create another; labels and annotations can be changed";
// Returns how many points stand where, by "pending", "running", "complete" and "failed"; empty
// before that is known.
std::map<std::string, double> PointsByPhase(const nlohmann::json& sweep);
// A sweep in a list of many: without its points and what its jobs are.
nlohmann::json SweepSummaryOf(nlohmann::json sweep);

}  // namespace eidolon::controller::sweep
