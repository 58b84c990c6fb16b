// Takes sweeps through in embedded mode: looks at them and their jobs, asks sweep/plan.h what to
// do, and creates jobs as a user would.
//
// Threads: one of its own, which takes the lock of the state to look, and none to act.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/controller/embedded/controller_state.h"
#include "services/controller/rest/api.h"
#include "services/controller/sweep/plan.h"

namespace eidolon::controller::embedded {

class SweepDriver {
 public:
  // Both must outlive it.
  SweepDriver(ControllerState* state, rest::Api* api) : state_(*state), api_(*api) {}
  ~SweepDriver() { Join(); }

  void Start();
  // Requires: the state is stopping, or Start was not called.
  void Join();

 private:
  // A sweep and its jobs, as they were at one moment.
  struct Seen;
  // State that the thread keeps of a sweep.
  struct Memory {
    std::map<std::string, std::string> refused;  // Jobs, and why.
    std::string trouble;
    bool is_removing = false;
  };

  void Loop();
  // Waits for news of jobs or sweeps, or until it is time to try again. False: all is over.
  bool Await(ControllerState::Lock* lock);
  bool IsStopping();
  std::vector<std::int64_t> FindUnfinished() const;
  Seen Look(const SweepEntry& entry);
  void Step(std::int64_t uid);
  void Create(const Seen& seen, const nlohmann::json& job, Memory* memory);
  // Returns whether another one has the job's name for good.
  bool IsNameTaken(const Seen& seen, const std::string& job);
  void DeleteJobs(std::int64_t uid, const Seen& seen);

  ControllerState& state_;
  rest::Api& api_;
  std::thread thread_;
  // Used by the thread.
  std::map<std::int64_t, Memory> memories_;
  std::size_t jobs_seen_ = 0;
  std::size_t ends_seen_ = 0;
  std::int64_t version_seen_ = -1;
};

}  // namespace eidolon::controller::embedded
