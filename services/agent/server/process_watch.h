// Watches whether the server's processes move, for quiescence and for the report of a standstill.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/agent/clock/quiescence.h"
#include "services/agent/clock/standstill.h"
#include "services/agent/launch/starting_ranks.h"
#include "services/agent/launch/stillness_watch.h"
#include "services/agent/rendezvous/store_server.h"
#include "services/agent/server/processes.h"
#include "services/base/clock.h"

namespace eidolon::controller::v1 {
class Progress;
}

namespace eidolon::agent::server {

// Main loop only.
class ProcessWatch {
 public:
  explicit ProcessWatch(const base::RealClock* clock)
      : clock_(clock), standstill_(clock->MonotonicNs()) {}

  // Returns what all processes below the agent do now.
  clock::Look Look(const Processes& processes);
  // Sets the store in which ranks of a folded job meet; it outlives the watch.
  void UseStore(const rendezvous::StoreServer* store) { store_ = store; }
  // Describes how long nothing has moved, and what the processes do, if that is long.
  void Describe(const Processes& processes, controller::v1::Progress* progress) const;

  // Describes ranks that have started and have not introduced themselves: "rank 1, which has used
  // no GPU yet, (pid 12, python3) waits in read (pipe_read)". Empty: there are none.
  std::string DescribeUnknownRanks(const Processes& processes) const;

  // Time passes, and something of the job moves.
  void Pass() { standstill_.Pass(clock_->MonotonicNs()); }
  void Move() { standstill_.Move(); }
  std::int64_t still_ns() const { return standstill_.still_ns(); }

 private:
  // Returns processes, each with its rank, that have started as a rank and have no session.
  static std::vector<std::pair<pid_t, std::int64_t>> UnknownRanks(const Processes& processes);

  bool StartingRanksRest(const Processes& processes);

  const base::RealClock* clock_;
  const rendezvous::StoreServer* store_ = nullptr;  // Null: not here.
  launch::StillnessWatch stillness_;
  launch::StartingRanks starting_;
  clock::Standstill standstill_;
};

}  // namespace eidolon::agent::server
