// The processes with emulated GPUs of one server: who is admitted, which connection and session
// each has, and which rank it is. They stay in the books when they are gone, for the report.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "services/agent/server/job_parts.h"
#include "services/agent/server/rank_registry.h"
#include "services/agent/session/session.h"
#include "services/agent/timeline/recorder.h"
#include "services/base/error.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/virtual_sleep.h"

namespace eidolon::agent::server {

// A process number is given once. Each connection belongs to one session, which outlives it. Main
// loop only.
class Processes {
 public:
  using Sessions = std::map<std::uint32_t, std::unique_ptr<session::Session>>;
  // Both outlive it.
  Processes(const JobParts* job, session::SessionHost* host);

  // Makes a session for who introduced itself, and sends it its files.
  base::Result<void> Admit(int connection, const ::eidolon::ring::Hello& hello, int doorbell);
  // The process whose connection this was; nothing when it had none.
  std::optional<std::uint32_t> Disconnect(int connection);
  // Who has lost a rank to another process does not hold the others up.
  void GiveUpDisplaced();
  // The job is over: who became no rank by then is one now, or none.
  void SettleRanks();

  // Returns whether this sleep is simulated time.
  bool MayVirtualSleep(const ::eidolon::ring::VirtualSleep& virtual_sleep) const;
  // Ranks that may still come. `world_met`: every rank of the job is in one communicator.
  int CountMissing(bool world_met) const;
  // Launchers and compilers have sessions too, but no iterations.
  bool IsReporting(const session::Session& session) const;
  bool HasNews() const;
  // Returns whether the job's timeline, which it has, shows the rank.
  bool IsShown(std::int32_t rank) const;

  const Sessions& all() const { return sessions_; }  // By process number.
  session::Session& at(std::uint32_t process) { return *sessions_.at(process); }
  const session::Session& at(std::uint32_t process) const { return *sessions_.at(process); }
  const std::map<int, std::uint32_t>& connections() const { return connections_; }
  RankRegistry& ranks() { return ranks_; }
  const RankRegistry& ranks() const { return ranks_; }

 private:
  bool MayBeShown(const ::eidolon::ring::Hello& hello) const;
  timeline::Rule TimelineRule() const;
  std::vector<device::Traits> DevicesOf(const ::eidolon::ring::Hello& hello) const;
  std::uint64_t StartClockOf(const ::eidolon::ring::Hello& hello) const;
  ::eidolon::ring::HostJitter JitterOf(const ::eidolon::ring::Hello& hello,
                                       std::uint32_t process) const;

  const JobParts* job_;
  session::SessionHost* host_;
  RankRegistry ranks_;
  Sessions sessions_;
  std::map<int, std::uint32_t> connections_;  // Descriptor to process number.
  std::uint32_t next_process_ = 1;
};

}  // namespace eidolon::agent::server
