// Ranks that run small programs against a simulation, as agents would, with messages in both
// directions delayed and interleaved at random. For tests: whatever the interleaving, what the
// ranks see must be the same.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "services/base/random.h"
#include "services/base/sim_time.h"
#include "services/network/simulation/simulation.h"

namespace eidolon::network::simulation {

// One step of a rank's program.
struct Step {
  enum class Kind {
    kCompute,     // The host's clock advances by `picoseconds`.
    kCollective,  // Asynchronous, on the group's own stream.
    kExchange,    // A group of sends and receives, likewise.
    kSync,        // The host waits for all of its streams.
    kQuery,       // The host asks whether its streams are done at its clock.
  };
  Kind kind = Kind::kCompute;
  std::int64_t picoseconds = 0;
  std::uint32_t group = 0;
  communicator::Operation operation;
};

struct Scenario {
  std::uint32_t servers = 1;
  std::uint32_t ranks_per_server = 1;
  std::vector<std::vector<std::uint32_t>> groups;  // Global ranks, in rank order.
  std::vector<std::vector<Step>> programs;         // By global rank.
  bool own_bounds = true;  // Promises say what holds whatever is still committed, too.
};

// A random program in which every collective meets. Ranks compute, call, wait and ask.
Scenario RandomScenario(std::uint64_t seed);

// Runs a scenario; `shuffle` seeds the interleaving. Single threaded.
class FakeRanks final : private Listener {
 public:
  FakeRanks(Scenario scenario, topology::Topology topology, std::uint64_t shuffle);

  // Runs to the end, or until nothing moves. What each rank saw, one line an event, with its time;
  // sorted, because ends of several groups may be told in any order.
  std::vector<std::string> Run();

  const Simulation& simulation() const { return simulation_; }
  bool finished() const { return finished_; }

 private:
  using Send = std::function<base::Result<void>(Simulation&)>;
  struct Operation {
    std::uint32_t group = 0;
    bool point_to_point = false;
    std::uint64_t sequence = 0;
    base::SimTime host;  // Clock of the call.
    bool posted = false;
  };
  struct Stream {
    std::deque<Operation> open;  // Not committed, in call order.
    base::SimTime end;
    std::uint64_t collectives = 0;  // Called.
    std::uint64_t exchanges = 0;
    std::map<std::pair<std::uint32_t, bool>, std::uint64_t> pairs;
  };
  struct Rank {
    std::uint32_t number = 0;
    std::size_t next = 0;   // Step.
    std::size_t joins = 0;  // Groups joined, in order.
    bool joining = false;
    bool asking = false;
    base::SimTime clock;
    std::map<std::uint32_t, Stream> streams;               // By group.
    std::map<std::uint32_t, std::uint64_t> communicators;  // By group.
    std::vector<std::string> seen;
  };
  struct Agent {
    std::uint32_t server = 0;
    std::vector<Rank> ranks;
    std::deque<communicator::Notice> inbox;
    std::deque<Send> outbox;
    std::uint64_t processed = 0;
    bool promise_due = true;
  };

  void Tell(std::uint64_t job, std::uint32_t server, const communicator::Notice& notice) override;
  void Ended(collective::Algorithm, collective::Protocol) override {}

  bool CanStep(const Rank& rank) const;
  void StepRank(Agent& agent, Rank& rank);
  void Join(Agent& agent, Rank& rank);
  void Call(Agent& agent, Rank& rank, const Step& step);
  void PostNext(Agent& agent, Rank& rank, Stream& stream);
  void Receive(Agent& agent);
  void Handle(Agent& agent, const communicator::JoinedNotice& joined);
  void Handle(Agent& agent, const communicator::CommittedNotice& committed);
  void Handle(Agent& agent, const communicator::SafeThroughNotice& safe);
  void Promise(Agent& agent);
  Rank* RankOf(Agent& agent, std::uint32_t global_rank);
  bool Done() const;

  Scenario scenario_;
  Simulation simulation_;
  base::Random random_;
  std::vector<Agent> agents_;
  bool finished_ = false;
};

}  // namespace eidolon::network::simulation
