// The network of one simulated cluster: jobs, their transfers on one fabric, and what may be told
// when. It knows nothing of processes, sockets or real time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/network/communicator/job.h"
#include "services/network/communicator/notice.h"
#include "services/network/flow/transfer_set.h"
#include "services/network/horizon/horizon.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::simulation {

// Interface by which notices leave the simulation. Times are the job's own.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void Tell(std::uint64_t job, std::uint32_t server,
                    const communicator::Notice& notice) = 0;
  // A collective or a group of transfers ended.
  virtual void Ended(collective::Algorithm algorithm, collective::Protocol protocol) = 0;
};

// Counted since the start.
struct Statistics {
  std::uint64_t transfers = 0;
  std::uint64_t events = 0;
  std::uint64_t clamped = 0;   // Transfers that started before the horizon: a broken promise.
  std::uint64_t foreseen = 0;  // Collectives told before the horizon came to their end.
  std::uint64_t missed = 0;    // Of these, told a wrong end: a mistake.
  std::uint64_t releases = 0;  // Events committed because everyone slept.
  std::uint64_t failures = 0;  // Messages that a communicator failed, while all servers ran.
  std::uint64_t deadlocks = 0;
  // Bytes that started transfers carry over the links of each of Simulation::tiers().
  std::vector<double> tier_bytes;
};

// Links of one sort.
struct Tier {
  std::string name;
  double capacity = 0;  // Of all of them, bytes per second.
};

// A link of a server.
struct ServerLink {
  topology::LinkTier tier = topology::LinkTier::kOther;
  std::uint32_t number = 0;  // Of the GPU, or of the NIC.
  bool is_inbound = false;
  topology::LinkIndex link = 0;
};

// Traffic on links of a server, by all jobs and background traffic.
struct LinkLoads {
  struct Change {
    std::uint32_t link = 0;  // Of `links`, the place in the list.
    base::SimTime at;        // The job's time.
    std::uint64_t bytes_per_second = 0;
  };
  std::vector<ServerLink> links;
  std::vector<Change> changes;  // In order of time; the first of each link begins what is known.
};

// Several jobs share one fabric and one horizon; each job's time starts at 0 when its first agent
// connects. Results depend on messages alone: per session their order counts, between sessions it
// does not. Call Progress after any batch of messages. Errors are those of one session, which
// should then be disconnected. Not thread safe.
class Simulation final : private communicator::Audience {
 public:
  // The listener outlives the simulation.
  Simulation(topology::Topology topology, Listener& listener);

  // Requires: the job is not known, and the plan's positions exist.
  void AddJob(std::uint64_t job, communicator::JobPlan plan);
  void RemoveJob(std::uint64_t job);

  base::Result<void> Connect(std::uint64_t job, std::uint32_t server);
  // What crosses the server's GPUs' links and NICs is kept until the job is removed. Changes no
  // time. Requires: the session is connected.
  void KeepLoads(std::uint64_t job, std::uint32_t server);
  // "NIC 3 of server 12, out", by the fabric's numbers of servers; empty: there is no such link.
  std::string LinkName(topology::LinkIndex link) const;
  // Returns what was kept of [from, to], up to now(). Fails when nothing is kept.
  base::Result<LinkLoads> ReadLoads(std::uint64_t job, std::uint32_t server, base::SimTime from,
                                    base::SimTime to);
  // Fine for a session that is not connected.
  void Disconnect(std::uint64_t job, std::uint32_t server);

  // Requires for all below: the session is connected.
  base::Result<void> Join(std::uint64_t job, std::uint32_t server, const std::string& unique_id,
                          std::int32_t size, communicator::Arrival arrival);
  base::Result<void> Split(std::uint64_t job, std::uint32_t server, std::uint64_t parent,
                           communicator::Arrival arrival);
  base::Result<void> Issue(std::uint64_t job, std::uint32_t server, communicator::IssueCall call);
  base::Result<void> Post(std::uint64_t job, std::uint32_t server, communicator::PostCall call);
  // The rank is not ready before the call's time.
  base::Result<void> Bound(std::uint64_t job, std::uint32_t server, communicator::PostCall call);
  base::Result<void> Leave(std::uint64_t job, std::uint32_t server, std::uint64_t communicator,
                           std::int32_t rank);
  base::Result<void> Keep(std::uint64_t job, std::uint32_t server, horizon::Promise promise);

  base::Result<collective::Cost> Estimate(std::uint64_t job, std::uint64_t communicator,
                                          const communicator::Operation& operation) const;

  // Commits what the horizon allows, and answers who waits for it.
  void Progress();

  // Everyone sleeps, nothing can happen any more, and somebody waits.
  bool Stuck() const;
  // Everyone is to say again that it sleeps. An agent that was stopped while its claim stood says
  // nothing, and one whose processes have woken meanwhile takes the claim back.
  void AskAgain();
  // Nothing but promises has come since AskAgain, so that a standstill found now was said twice.
  bool WasAsked() const { return asked_at_ == calls_; }
  // Tells jobs that wait what they wait for; each job once.
  void ReportDeadlock();

  const topology::Topology& topology() const { return topology_; }
  const Statistics& statistics() const { return statistics_; }
  const std::vector<Tier>& tiers() const { return tiers_; }
  base::SimTime now() const { return transfers_.now(); }
  // Faults that have happened.
  std::size_t changes() const { return next_change_; }
  // Returns how far the earliest event lies beyond the horizon.
  base::Duration Lag();
  std::size_t active_transfers() const { return transfers_.Active(); }

 private:
  struct Entry {
    communicator::Job job;
    std::uint32_t transfer_permille = 1000;
    base::SimTime epoch;  // The job's time 0.
    bool started = false;
    bool deadlock_reported = false;
    std::set<std::uint32_t> keeps_loads;  // Servers.
  };

  void Tell(std::uint64_t job, std::uint32_t server, communicator::Notice notice) override;
  void Start(flow::Transfer transfer) override;
  void Ended(collective::Algorithm algorithm, collective::Protocol protocol) override;
  void MissedForeseenEnd() override { ++statistics_.missed; }
  void Cancel(std::uint64_t job, std::uint64_t communicator) override;

  // Tells how transfers end that nobody can disturb any more.
  void Foresee();
  bool IsDecided(const Entry& entry, const flow::Finish& finish) const;
  void FindTiers();
  std::vector<flow::LinkUse> BackgroundUses(const topology::Background& traffic) const;
  // The next fault, if it comes before everything else and something is under way.
  std::optional<base::SimTime> NextChange() const;
  void Change(base::SimTime time);
  Entry& Job(std::uint64_t job);
  std::vector<ServerLink> LinksOf(std::uint32_t position) const;
  void RunToHorizon();
  std::optional<base::SimTime> NextRelease() const;
  void TellSession(horizon::SessionId session, base::SimTime time, bool released);

  topology::Topology topology_;
  Listener& listener_;
  mutable flow::TransferSet transfers_;  // NextTime drops stale events.
  horizon::Horizon horizon_;
  // Transfers on links that the ranks of a domain decide over: how they end alone, in order of
  // time, by job and communicator.
  struct ByEnd {
    bool operator()(const flow::Finish& a, const flow::Finish& b) const {
      return a.finish != b.finish ? a.finish < b.finish : a.key < b.key;
    }
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::set<flow::Finish, ByEnd>> quarantined_;
  std::map<std::uint64_t, Entry> jobs_;
  std::size_t next_change_ = 0;  // Into topology_.changes().
  std::uint64_t calls_ = 0;      // Messages that are not promises, and moments that passed.
  std::optional<std::uint64_t> asked_at_;  // calls_ when all were asked; nothing: never.
  std::vector<Tier> tiers_;
  std::vector<std::uint8_t> tier_of_;  // By link.
  Statistics statistics_;
};

}  // namespace eidolon::network::simulation
