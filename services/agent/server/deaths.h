// Processes that have hung up: how they ended, or that they go on without their session. Ranks that
// ended badly and sessions that were lost become findings of the verdict.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "services/agent/launch/death.h"
#include "services/agent/outcome/verdict.h"
#include "services/agent/server/processes.h"
#include "services/base/clock.h"
#include "services/contract/ring/layout.h"

namespace eidolon::agent::server {

// Each process is watched from its hang-up until all is known of it. Main loop only.
class Deaths {
 public:
  // All outlive it.
  Deaths(Processes* processes, outcome::Verdict* verdict, const base::RealClock* clock)
      : processes_(processes), verdict_(verdict), clock_(clock) {}

  // The process has introduced itself: how it ends is known from now on, also when its parent
  // collects it before the next look.
  void Observe(std::uint32_t process);
  // The process has hung up, and its last records were applied, but for those that wait for costs.
  void Add(std::uint32_t process);
  // A rank that ended badly takes the job down. Its parent will soon collect it, so call often.
  void Watch();
  // The command has ended: what its ranks had to say comes within moments, also on a busy machine.
  bool IsLastWordOpen(std::int64_t command_ended_ns) const;
  // Judges those that live on although the command has ended.
  void Settle();
  // Whether a process has hung up and it is not known yet how it ended.
  bool is_judging() const { return !dying_.empty(); }
  // Returns when the first rank died or lost its session. Requires: the verdict has one.
  std::int64_t first_ns() const { return first_ns_; }

 private:
  // A process whose socket hung up: its exit status shows in /proc for a moment.
  struct Dying {
    std::uint32_t process = 0;
    std::int64_t since_ns = 0;
    ::eidolon::ring::Farewell farewell{};  // What it had said by then.
  };
  bool HasEnded(const Dying& dying);
  launch::Death Look(std::uint32_t process) const;
  void NoteLost(const session::Session& lost, std::string_view how);

  Processes* processes_;
  outcome::Verdict* verdict_;
  const base::RealClock* clock_;
  std::map<std::uint32_t, launch::ObservedProcess> observed_;  // By process number.
  std::vector<Dying> dying_;
  std::int64_t first_ns_ = 0;
};

}  // namespace eidolon::agent::server
