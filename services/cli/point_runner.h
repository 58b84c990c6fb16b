// Predicts the points of a search: one run of the program for all points that a recording of it
// answers for, and replays of that recording.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "services/base/error.h"
#include "services/cli/embedded.h"
#include "services/cli/replays.h"

namespace eidolon::cli {

// Thread safe; used by one process. Points of one recording are predicted one after another.
class PointRunner {
 public:
  using GoesOn = std::function<bool(const nlohmann::json& job)>;

  // Keeps recordings in `folder`, where a later process finds them. `replays`: whether it keeps
  // and replays any.
  PointRunner(EmbeddedOptions embedded, std::string folder, bool replays)
      : embedded_(std::move(embedded)), folder_(std::move(folder)), replays_(replays) {}

  struct Predicted {
    nlohmann::json job;  // Its document, once it is over.
    bool replayed = false;
  };
  // `spec`: of a SimulationJob. An error of kInvalidArgument says why there is no such job.
  // `goes_on`: as of Replays::Predict, for a job whose program runs.
  base::Result<Predicted> Predict(const nlohmann::json& spec, const GoesOn& goes_on = {});

 private:
  struct Over {
    nlohmann::json job;
    std::string name;
  };
  base::Result<Predicted> PredictBy(const std::string& part, const nlohmann::json& spec,
                                    const GoesOn& goes_on);
  base::Result<Over> RunJob(nlohmann::json spec, const GoesOn& goes_on);
  base::Result<std::optional<nlohmann::json>> Replay(const nlohmann::json& spec,
                                                     const std::string& recording);
  void KeepRecording(const std::string& job, const std::string& file);

  EmbeddedOptions embedded_;
  std::string folder_;
  bool replays_;
  std::mutex mutex_;  // Guards what follows; not the jobs, which run without it.
  std::condition_variable part_is_free_;
  std::set<std::string> busy_parts_;
  std::unique_ptr<Replays> jobs_;  // Null until a point has to be predicted.
  std::size_t job_count_ = 0;
  // Jobs that ran out of memory, by what decides whether a job does.
  std::map<std::string, nlohmann::json> without_memory_;
};

}  // namespace eidolon::cli
