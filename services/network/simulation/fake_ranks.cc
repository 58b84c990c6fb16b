// The simulation promises that results do not depend on when messages arrive. A test of that needs
// agents that obey the protocol and nothing else, so every step here (a message delivered, a rank's
// step, a promise) is one of the choices that are open, and the seed picks among them. What ranks
// saw must be the same for all seeds. A promise goes through the same queue as the calls before it,
// as that of a real agent does.
#include "services/network/simulation/fake_ranks.h"

#include <algorithm>
#include <optional>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::simulation {

using base::SimTime;
using base::StrCat;

namespace {

constexpr std::uint64_t kJob = 1;

communicator::Operation RandomCollective(base::Random& random, std::uint32_t members) {
  using collective::Kind;
  constexpr Kind kKinds[] = {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter,
                             Kind::kBroadcast, Kind::kAllToAll};
  communicator::Operation operation;
  operation.kind = kKinds[random.Below(5)];
  operation.data_type = 1;
  operation.root = HasRoot(operation.kind) ? 0 : -1;
  operation.count = std::uint64_t{1} << random.Below(28);
  operation.bytes = operation.count * members;
  return operation;
}

// The group passes a buffer around its ring.
void AppendExchange(Scenario& scenario, std::uint32_t group, std::uint64_t bytes) {
  const auto& members = scenario.groups[group];
  const auto size = static_cast<std::int32_t>(members.size());
  for (std::int32_t rank = 0; rank < size; ++rank) {
    Step step{.kind = Step::Kind::kExchange, .group = group};
    step.operation.kind = collective::Kind::kPointToPoint;
    step.operation.transfers = {{.send = true, .peer = (rank + 1) % size, .bytes = bytes},
                                {.send = false, .peer = (rank + size - 1) % size, .bytes = bytes}};
    scenario.programs[members[static_cast<std::size_t>(rank)]].push_back(step);
  }
}

}  // namespace

Scenario RandomScenario(std::uint64_t seed) {
  base::Random random(seed);
  Scenario scenario{.servers = 1 + static_cast<std::uint32_t>(random.Below(3)),
                    .ranks_per_server = 1 + static_cast<std::uint32_t>(random.Below(3))};
  const std::uint32_t ranks = scenario.servers * scenario.ranks_per_server;
  scenario.programs.resize(ranks);
  scenario.groups.emplace_back();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) scenario.groups[0].push_back(rank);
  for (int extra = 0; extra < 3; ++extra) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (random.Below(2) == 0) members.push_back(rank);
    }
    if (!members.empty()) scenario.groups.push_back(members);
  }
  for (std::uint32_t server = 0; server < scenario.servers; ++server) {
    std::vector<std::uint32_t> neighbours;
    for (std::uint32_t device = 0; device < scenario.ranks_per_server; ++device) {
      neighbours.push_back(server * scenario.ranks_per_server + device);
    }
    scenario.groups.push_back(neighbours);
  }
  for (int action = 0; action < 60; ++action) {
    auto& program = scenario.programs[random.Below(ranks)];
    const auto group = static_cast<std::uint32_t>(random.Below(scenario.groups.size()));
    switch (random.Below(6)) {
      case 0:
      case 1:
        program.push_back({.kind = Step::Kind::kCompute,
                           .picoseconds = static_cast<std::int64_t>(random.Below(900'000'000))});
        break;
      case 2:
        program.push_back({.kind = Step::Kind::kSync});
        break;
      case 3:
        program.push_back({.kind = Step::Kind::kQuery});
        break;
      case 4:
        AppendExchange(scenario, group, std::uint64_t{1} << random.Below(26));
        break;
      default: {
        const auto members = static_cast<std::uint32_t>(scenario.groups[group].size());
        const Step step{.kind = Step::Kind::kCollective,
                        .group = group,
                        .operation = RandomCollective(random, members)};
        for (std::uint32_t rank : scenario.groups[group]) scenario.programs[rank].push_back(step);
      }
    }
  }
  for (auto& program : scenario.programs) program.push_back({.kind = Step::Kind::kSync});
  return scenario;
}

FakeRanks::FakeRanks(Scenario scenario, topology::Topology topology, std::uint64_t shuffle)
    : scenario_(std::move(scenario)), simulation_(std::move(topology), *this), random_(shuffle) {
  std::vector<std::uint32_t> placement;
  for (std::uint32_t server = 0; server < scenario_.servers; ++server) {
    placement.push_back(server);
    Agent agent{.server = server};
    for (std::uint32_t device = 0; device < scenario_.ranks_per_server; ++device) {
      agent.ranks.push_back({.number = server * scenario_.ranks_per_server + device});
    }
    agents_.push_back(std::move(agent));
  }
  simulation_.AddJob(kJob, {.placement = placement});
  for (Agent& agent : agents_) {
    agent.outbox.push_back([server = agent.server](Simulation& simulation) {
      return simulation.Connect(kJob, server);
    });
  }
}

std::vector<std::string> FakeRanks::Run() {
  while (!Done()) {
    // Everything that may happen next in real time; one of it does.
    std::vector<std::function<void()>> choices;
    for (Agent& agent : agents_) {
      if (!agent.inbox.empty()) choices.push_back([&] { Receive(agent); });
      if (!agent.outbox.empty()) {
        choices.push_back([&] {
          const Send send = std::move(agent.outbox.front());
          agent.outbox.pop_front();
          const auto sent = send(simulation_);
          CHECK(sent.has_value());
          if (random_.Below(3) > 0) simulation_.Progress();
        });
      }
      for (Rank& rank : agent.ranks) {
        if (CanStep(rank)) choices.push_back([&] { StepRank(agent, rank); });
      }
      if (agent.promise_due) choices.push_back([&] { Promise(agent); });
    }
    if (choices.empty()) {
      simulation_.Progress();
      const bool woken = std::any_of(agents_.begin(), agents_.end(),
                                     [](const Agent& agent) { return !agent.inbox.empty(); });
      if (!woken) break;
      continue;
    }
    choices[random_.Below(choices.size())]();
  }
  finished_ = Done();
  std::vector<std::string> seen;
  for (const Agent& agent : agents_) {
    for (const Rank& rank : agent.ranks) {
      for (const std::string& line : rank.seen) seen.push_back(StrCat(rank.number, ": ", line));
    }
  }
  std::ranges::sort(seen);
  return seen;
}

bool FakeRanks::Done() const {
  return std::all_of(agents_.begin(), agents_.end(), [&](const Agent& agent) {
    return std::all_of(agent.ranks.begin(), agent.ranks.end(), [&](const Rank& rank) {
      return rank.next == scenario_.programs[rank.number].size();
    });
  });
}

FakeRanks::Rank* FakeRanks::RankOf(Agent& agent, std::uint32_t global_rank) {
  return &agent.ranks[global_rank - agent.server * scenario_.ranks_per_server];
}

bool FakeRanks::CanStep(const Rank& rank) const {
  if (rank.joining || rank.asking) return false;
  if (rank.joins < scenario_.groups.size()) return true;
  const auto& program = scenario_.programs[rank.number];
  if (rank.next == program.size()) return false;
  if (program[rank.next].kind != Step::Kind::kSync) return true;
  return std::all_of(rank.streams.begin(), rank.streams.end(),
                     [](const auto& stream) { return stream.second.open.empty(); });
}

void FakeRanks::Join(Agent& agent, Rank& rank) {
  const auto group = static_cast<std::uint32_t>(rank.joins++);
  const auto& members = scenario_.groups[group];
  const auto at = std::find(members.begin(), members.end(), rank.number);
  if (at == members.end()) return;
  rank.joining = true;
  communicator::Arrival arrival{
      .request = rank.number,
      .member = {.global_rank = static_cast<std::int32_t>(rank.number),
                 .server = agent.server,
                 .device = rank.number - agent.server * scenario_.ranks_per_server},
      .rank = static_cast<std::int32_t>(at - members.begin()),
      .ready = rank.clock};
  agent.outbox.push_back([=, size = static_cast<std::int32_t>(members.size()),
                          server = agent.server](Simulation& simulation) {
    return simulation.Join(kJob, server, StrCat("group ", group), size, arrival);
  });
}

void FakeRanks::StepRank(Agent& agent, Rank& rank) {
  agent.promise_due = true;
  if (rank.joins < scenario_.groups.size()) {
    Join(agent, rank);
    return;
  }
  const Step& step = scenario_.programs[rank.number][rank.next];
  switch (step.kind) {
    case Step::Kind::kCompute:
      rank.clock += {step.picoseconds};
      break;
    case Step::Kind::kSync:
      for (const auto& [group, stream] : rank.streams) {
        rank.clock = std::max(rank.clock, stream.end);
      }
      rank.seen.push_back(StrCat("synchronised at ", rank.clock.ps));
      break;
    case Step::Kind::kQuery:
      rank.asking = true;
      return;  // The step ends with the answer.
    case Step::Kind::kCollective:
    case Step::Kind::kExchange:
      Call(agent, rank, step);
      break;
  }
  ++rank.next;
}

void FakeRanks::Call(Agent& agent, Rank& rank, const Step& step) {
  rank.clock += {1'000'000};
  Stream& stream = rank.streams[step.group];
  const bool exchange = step.kind == Step::Kind::kExchange;
  const auto& members = scenario_.groups[step.group];
  const auto at = std::find(members.begin(), members.end(), rank.number);
  communicator::IssueCall call{.communicator = rank.communicators.at(step.group),
                               .sequence = exchange ? stream.exchanges++ : stream.collectives++,
                               .rank = static_cast<std::int32_t>(at - members.begin()),
                               .operation = step.operation};
  for (communicator::TransferCall& transfer : call.operation.transfers) {
    transfer.sequence = stream.pairs[{static_cast<std::uint32_t>(transfer.peer), transfer.send}]++;
  }
  stream.open.push_back({.group = step.group,
                         .point_to_point = exchange,
                         .sequence = call.sequence,
                         .host = rank.clock});
  agent.outbox.push_back([=, server = agent.server](Simulation& simulation) {
    return simulation.Issue(kJob, server, call);
  });
  PostNext(agent, rank, stream);
}

void FakeRanks::PostNext(Agent& agent, Rank& rank, Stream& stream) {
  if (stream.open.empty() || stream.open.front().posted) return;
  Operation& operation = stream.open.front();
  operation.posted = true;
  const auto& members = scenario_.groups[operation.group];
  const auto at = std::find(members.begin(), members.end(), rank.number);
  const communicator::PostCall call{.communicator = rank.communicators.at(operation.group),
                                    .sequence = operation.sequence,
                                    .rank = static_cast<std::int32_t>(at - members.begin()),
                                    .point_to_point = operation.point_to_point,
                                    .ready = std::max(operation.host, stream.end)};
  agent.outbox.push_back([=, server = agent.server](Simulation& simulation) {
    return simulation.Post(kJob, server, call);
  });
}

void FakeRanks::Promise(Agent& agent) {
  agent.promise_due = false;
  horizon::Promise promise{.lower_bound = SimTime::Max(), .processed = agent.processed};
  for (const Rank& rank : agent.ranks) {
    const bool ended = rank.next == scenario_.programs[rank.number].size();
    const bool waits = rank.joining || (!rank.asking && !CanStep(rank));
    if (scenario_.own_bounds) {
      const auto device = rank.number % scenario_.ranks_per_server;
      promise.own_bounds.push_back({device, ended ? SimTime::Max() : rank.clock});
    }
    if (!ended && !waits) promise.lower_bound = std::min(promise.lower_bound, rank.clock);
    if (rank.asking && (!promise.wanted || rank.clock < *promise.wanted)) {
      promise.wanted = rank.clock;
    }
  }
  agent.outbox.push_back([=, server = agent.server](Simulation& simulation) {
    return simulation.Keep(kJob, server, promise);
  });
}

void FakeRanks::Tell(std::uint64_t, std::uint32_t server, const communicator::Notice& notice) {
  agents_[server].inbox.push_back(notice);
}

void FakeRanks::Receive(Agent& agent) {
  const communicator::Notice notice = std::move(agent.inbox.front());
  agent.inbox.pop_front();
  agent.promise_due = true;
  if (const auto* joined = std::get_if<communicator::JoinedNotice>(&notice)) {
    Handle(agent, *joined);
  } else if (const auto* committed = std::get_if<communicator::CommittedNotice>(&notice)) {
    Handle(agent, *committed);
  } else if (const auto* safe = std::get_if<communicator::SafeThroughNotice>(&notice)) {
    Handle(agent, *safe);
  }
}

void FakeRanks::Handle(Agent& agent, const communicator::JoinedNotice& joined) {
  ++agent.processed;
  Rank& rank = *RankOf(agent, static_cast<std::uint32_t>(joined.request));
  rank.joining = false;
  rank.clock = std::max(rank.clock, joined.finish);
  rank.communicators[static_cast<std::uint32_t>(rank.joins - 1)] = joined.communicator;
  rank.seen.push_back(StrCat("joined ", joined.communicator, " at ", rank.clock.ps));
}

void FakeRanks::Handle(Agent& agent, const communicator::CommittedNotice& committed) {
  ++agent.processed;
  for (Rank& rank : agent.ranks) {
    for (auto& [group, stream] : rank.streams) {
      if (rank.communicators.at(group) != committed.communicator || stream.open.empty()) continue;
      const Operation& first = stream.open.front();
      const auto& members = scenario_.groups[group];
      const auto own = std::find(members.begin(), members.end(), rank.number) - members.begin();
      const bool fits = first.point_to_point ? committed.rank == own : committed.rank == -1;
      if (!fits || first.sequence != committed.sequence) continue;
      rank.seen.push_back(StrCat("operation ", first.point_to_point ? "x" : "c", first.sequence,
                                 " of group ", group, " ran ", committed.start.ps, " to ",
                                 committed.finish.ps));
      stream.end = committed.finish;
      stream.open.pop_front();
      PostNext(agent, rank, stream);
    }
  }
}

void FakeRanks::Handle(Agent& agent, const communicator::SafeThroughNotice& safe) {
  for (Rank& rank : agent.ranks) {
    if (!rank.asking || rank.clock > safe.time) continue;
    bool done = true;
    for (const auto& [group, stream] : rank.streams) {
      done = done && stream.open.empty() && stream.end <= rank.clock;
    }
    rank.seen.push_back(StrCat("asked at ", rank.clock.ps, ": ", done ? "done" : "busy"));
    rank.asking = false;
    ++rank.next;
  }
}

}  // namespace eidolon::network::simulation
