// Turns calls into transfers, and ended transfers into commits. What starts for the members starts
// for each image as well, a group of mirrored ranks that does the same: it loads links, and nothing
// waits for it. A foreseen end is sent before the horizon reaches it and cannot be taken back, so
// all that may load the links of its domain must be foreseen, too.
#include <algorithm>
#include <utility>

#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/network/communicator/job.h"
#include "services/network/communicator/mirrored_transfers.h"
#include "services/network/communicator/report.h"
#include "services/network/communicator/row_calls.h"

namespace eidolon::network::communicator {

using base::Result;
using base::StrCat;
using collective::Cost;

Result<void> Job::Issue(std::uint32_t server, IssueCall call) {
  auto found = Find(server, call.communicator, call.rank);
  if (!found) return std::unexpected(found.error());
  Communicator& communicator = **found;
  const auto size = static_cast<std::int32_t>(communicator.members.size());
  if (auto checked = Check(call.operation, size); !checked) return checked;
  if (Refused(communicator, server)) return {};
  if (folded_.any()) CompareWork(communicator, call);
  if (call.operation.kind == Kind::kPointToPoint) {
    return IssueTransfers(communicator, std::move(call));
  }
  return IssueCollective(communicator, std::move(call));
}

void Job::CompareWork(const Communicator& communicator, const IssueCall& call) {
  const auto rank = static_cast<std::uint32_t>(
      communicator.members[static_cast<std::size_t>(call.rank)].global_rank);
  for (WorkTable::Difference& difference : work_.Add(rank, call.work, call.operation)) {
    Tell(difference.reference / folded_.ranks_per_server(),
         WorkDiffersNotice{.rank = difference.reference, .where = std::move(difference.where)});
  }
}

Result<void> Job::IssueCollective(Communicator& communicator, IssueCall call) {
  const auto issued = communicator.collectives.Issue(
      call.sequence, call.rank, call.operation, std::move(call.payload),
      [&](const std::vector<std::int32_t>& ranks) {
        return NameRanks(communicator.members, ranks);
      },
      call.group);
  if (!issued) {
    if (issued.error().code == base::ErrorCode::kInvalidArgument) {
      return std::unexpected(issued.error());
    }
    Fail(communicator, StrCat(communicator.Title(), ": ", issued.error().message));
    return {};
  }
  // A member that left may have called this one before.
  if (const auto rank = communicator.GoneAndNeeded(disconnected_)) {
    WaitInVain(communicator, *rank,
               StrCat(NameRanks(communicator.members, {*rank}), " has left ", communicator.Title(),
                      " before ", NameRanks(communicator.members, {call.rank}), " called ",
                      Describe(call.operation)));
    if (communicator.failure) return {};
  }
  if (communicator.row && !RowsAreAlike(communicator, call)) return {};
  for (const CollectiveTable::Values& values : *issued) {
    const bool is_broadcast =
        call.operation.kind == Kind::kBroadcast && values.sequence == call.sequence;
    if (is_broadcast && communicator.row) {
      TellBroadcast(communicator, call.operation.root, values);
    } else {
      TellValues(communicator, values);
    }
  }
  return {};
}

bool Job::RowsAreAlike(Communicator& communicator, const IssueCall& call) {
  const auto self = static_cast<std::uint32_t>(
      communicator.members[static_cast<std::size_t>(call.rank)].global_rank);
  const auto other = row_calls_.Add(*communicator.row, self, call.sequence, call.operation);
  if (!other) return true;
  const std::vector<folding::Dimension> by =
      DifferenceOfRows(communicator.row->dimensions, self, other->rank, folded_.fold().ranks());
  Fail(
      communicator,
      StrCat(communicator.Title(), " and the one like it of other ranks, collective ",
             call.sequence, ": ", DescribeDifference(*other, {self, call.operation}),
             ". Ranks of one class of a folded job must call the same; where these ranks differ by "
             "more than their place in groups, run it with --fold off"),
      by);
  return false;
}

// A folded job's broadcast in a row of its mesh.
void Job::TellBroadcast(const Communicator& communicator, std::int32_t root,
                        CollectiveTable::Values values) {
  const std::size_t size = values.results.size();
  const std::uint64_t sequence = values.sequence;
  if (!communicator.IsMirrored(static_cast<std::size_t>(root))) {
    const Payload given =
        values.results.front();  // What a broadcast gives to one, it gives to all.
    const auto waiters = row_broadcasts_.Give(*communicator.row, root, sequence, given);
    TellValues(communicator, values);
    for (const RowBroadcasts::Waiter& waiter : waiters) {
      const auto found = communicators_.find(waiter.communicator);
      if (found == communicators_.end() || found->second.failure) continue;
      const std::size_t callers = found->second.collectives.callers().size();
      TellValues(found->second,
                 {.sequence = waiter.sequence, .results = std::vector<Payload>(callers, given)});
    }
    return;
  }
  Payload given;
  switch (row_broadcasts_.Ask(*communicator.row, root, sequence,
                              {.communicator = communicator.id, .sequence = sequence}, &given)) {
    case RowBroadcasts::Answer::kNobodyKnows:
      return TellValues(communicator, values);
    case RowBroadcasts::Answer::kGiven:
      return TellValues(communicator,
                        {.sequence = sequence, .results = std::vector<Payload>(size, given)});
    case RowBroadcasts::Answer::kLater:
      return;
  }
}

void Job::TellValues(const Communicator& communicator, const CollectiveTable::Values& values) {
  auto guessed = static_cast<std::uint32_t>(values.guessed);
  const std::vector<std::int32_t>& callers = communicator.collectives.callers();
  for (std::size_t at = 0; at < callers.size(); ++at) {
    const Payload& result = values.results[at];
    Tell(communicator.members[static_cast<std::size_t>(callers[at])].server,
         ValuesNotice{.communicator = communicator.id,
                      .sequence = values.sequence,
                      .rank = callers[at],
                      .known = result.has_value(),
                      .payload = result.value_or(std::string()),
                      .guessed = guessed,
                      .site = guessed > 0 ? values.site : std::string()});
    guessed = 0;
  }
}

Result<void> Job::IssueTransfers(Communicator& communicator, IssueCall call) {
  std::vector<MirroredGroup> mirrored;
  if (communicator.mirrored_ranks != nullptr) {
    if (const auto peer = FindUnlike(*communicator.mirrored_ranks, call.rank, call.operation)) {
      FailUnlike(communicator, call.rank, *peer, call.operation);
      return {};
    }
    mirrored =
        MirroredGroupsOf(*communicator.mirrored_ranks, call.rank, call.operation, call.payload);
  }
  const auto issued = communicator.transfers.Issue({call.rank, call.sequence}, call.operation,
                                                   std::move(call.payload));
  if (!issued) {
    if (issued.error().code == base::ErrorCode::kInvalidArgument) {
      return std::unexpected(issued.error());
    }
    Fail(communicator, StrCat(communicator.Title(), ": ", issued.error().message));
    return {};
  }
  if (const auto rank = communicator.GoneAndNeeded(disconnected_)) {
    WaitInVain(communicator, *rank,
               StrCat(NameRanks(communicator.members, {*rank}), " has left ", communicator.Title(),
                      " before ", NameRanks(communicator.members, {call.rank}),
                      " called a send or receive with it"));
    if (communicator.failure) return {};
  }
  TellTransferred(communicator, *issued);
  const GroupId own{call.rank, call.sequence};
  TellBounds(communicator, own);
  for (MirroredGroup& group : mirrored) {
    const auto done = communicator.transfers.Issue({group.rank, call.sequence}, group.operation,
                                                   std::move(group.payload));
    if (!done) {
      Fail(communicator, StrCat(communicator.Title(), ": ", done.error().message));
      return {};
    }
    communicator.mirrored_groups[own].push_back(group.rank);
    TellTransferred(communicator, *done);
  }
  return {};
}

void Job::TellTransferred(const Communicator& communicator,
                          const std::vector<TransferTable::Values>& all) {
  for (const TransferTable::Values& values : all) {
    if (communicator.IsMirrored(static_cast<std::size_t>(values.group.rank))) continue;
    const auto rank = static_cast<std::size_t>(values.group.rank);
    Tell(communicator.members[rank].server,
         ValuesNotice{.communicator = communicator.id,
                      .sequence = values.group.sequence,
                      .rank = values.group.rank,
                      .point_to_point = true,
                      .known = values.result.has_value(),
                      .payload = values.result.value_or(std::string())});
  }
}

Result<void> Job::Post(std::uint32_t server, const PostCall& call) {
  auto found = Find(server, call.communicator, call.rank);
  if (!found) return std::unexpected(found.error());
  Communicator& communicator = **found;
  // The failure was told when it happened; a post on its way then does not ask again.
  if (communicator.failure) return {};
  if (call.point_to_point) {
    const auto posted = communicator.transfers.Post({call.rank, call.sequence}, call.ready);
    if (!posted) return std::unexpected(posted.error());
    for (const TransferTable::Ready& ready : *posted) StartTransfer(communicator, ready);
    TellBounds(communicator, {call.rank, call.sequence});
    const auto mirrored = communicator.mirrored_groups.extract(GroupId{call.rank, call.sequence});
    if (mirrored.empty()) return {};
    for (const std::int32_t mirrored_rank : mirrored.mapped()) {
      const auto started = communicator.transfers.Post({mirrored_rank, call.sequence}, call.ready);
      if (!started) return std::unexpected(started.error());
      for (const TransferTable::Ready& ready : *started) StartTransfer(communicator, ready);
      TellBounds(communicator, {mirrored_rank, call.sequence});
    }
    return {};
  }
  const auto posted = communicator.collectives.Post(call.sequence, call.rank, call.ready);
  if (!posted) return std::unexpected(posted.error());
  if (*posted) StartCollective(communicator, **posted);
  return {};
}

Result<void> Job::Bound(std::uint32_t server, const PostCall& call) {
  auto found = Find(server, call.communicator, call.rank);
  if (!found) return std::unexpected(found.error());
  Communicator& communicator = **found;
  if (communicator.failure || !call.point_to_point) return {};
  const GroupId own{call.rank, call.sequence};
  communicator.transfers.Bound(own, call.ready);
  TellBounds(communicator, own);
  const auto mirrored = communicator.mirrored_groups.find(own);
  if (mirrored == communicator.mirrored_groups.end()) return {};
  for (const std::int32_t mirrored_rank : mirrored->second) {
    communicator.transfers.Bound({mirrored_rank, call.sequence}, call.ready);
    TellBounds(communicator, {mirrored_rank, call.sequence});
  }
  return {};
}

void Job::TellBounds(Communicator& communicator, const GroupId& group) {
  for (const TransferTable::Ready& open : communicator.transfers.BoundsOf(group)) {
    const auto receiver = static_cast<std::size_t>(open.pair.to);
    if (communicator.IsMirrored(receiver)) continue;
    const collective::TransferCost cost =
        CostBetween(communicator, open.pair.from, open.pair.to, open.bytes);
    const base::SimTime end = flow::Later(
        open.start, cost.latency + base::TransferTime(open.bytes, cost.bytes_per_second));
    const auto told = communicator.transfers.TakeTold(open.pair, end);
    if (!told) continue;
    Tell(communicator.members[receiver].server,
         NotBeforeNotice{
             .communicator = communicator.id, .sequence = *told, .rank = open.pair.to, .end = end});
  }
}

// The members' own transfer, and those of the mirrored ranks that do the same.
void Job::StartEverywhere(Communicator& communicator, flow::Transfer transfer,
                          RouteTable::Key route, const Traffic& traffic) {
  transfer.key.job = number_;
  transfer.key.communicator = communicator.id;
  const auto start = [&](std::uint32_t image, const std::vector<topology::Place>& places) {
    transfer.key.image = image;
    route.image = image;
    transfer.uses = communicator.routes.Find(route, [&] { return traffic(places); });
    audience_.Start(transfer);
  };
  start(0, communicator.places);
  for (std::uint32_t image = 0; image < communicator.images.size(); ++image) {
    start(image + 1, communicator.images[image]);
  }
}

void Job::StartCollective(Communicator& communicator, const CollectiveTable::Ready& ready) {
  const Operation& operation = ready.operation;
  const Cost cost =
      collective::CostOf({.kind = operation.kind, .bytes = operation.bytes}, communicator.shape);
  const collective::Load load = LoadOf(operation, communicator.shape);
  communicator.running[ready.sequence] = {.cost = cost, .load = load, .foreseen = {}};
  StartEverywhere(
      communicator,
      {.key = {.sequence = ready.sequence},
       .start = ready.start,
       .latency = cost.latency,
       .alone = cost.transfer,
       .weight = cost.channels,
       .uses = {}},
      {.kind = load.kind, .bytes = load.bytes, .from = load.root},
      [&](const auto& places) { return collective::TrafficOf(topology_, places, load, cost); });
}

collective::TransferCost Job::CostBetween(const Communicator& communicator, std::int32_t from,
                                          std::int32_t to, std::uint64_t bytes) const {
  return collective::TransferCostBetween(topology_, communicator.shape,
                                         communicator.places[static_cast<std::size_t>(from)],
                                         communicator.places[static_cast<std::size_t>(to)], bytes);
}

void Job::StartTransfer(Communicator& communicator, const TransferTable::Ready& ready) {
  const Pair& pair = ready.pair;
  const collective::TransferCost cost = CostBetween(communicator, pair.from, pair.to, ready.bytes);
  const auto from = static_cast<std::uint32_t>(pair.from);
  const auto to = static_cast<std::uint32_t>(pair.to);
  StartEverywhere(
      communicator,
      {.key = {.sequence = pair.sequence, .from = from, .to = to, .point_to_point = true},
       .start = ready.start,
       .latency = cost.latency,
       .alone = base::TransferTime(ready.bytes, cost.bytes_per_second),
       .weight = cost.channels,
       .uses = {}},
      {.kind = Kind::kPointToPoint, .bytes = ready.bytes, .from = from, .to = to},
      [&](const auto& places) {
        return collective::TrafficBetween(topology_, places[from], places[to],
                                          cost.bytes_per_second);
      });
}

flow::LinkUses Job::UsesOf(const flow::Transfer& transfer) const {
  const flow::TransferKey& key = transfer.key;
  const auto found = communicators_.find(key.communicator);
  if (found == communicators_.end() || transfer.uses == nullptr) return transfer.uses;
  const Communicator& communicator = found->second;
  const auto& places = key.image == 0 ? communicator.places : communicator.images[key.image - 1];
  if (!key.point_to_point) {
    const auto running = communicator.running.find(key.sequence);
    if (running == communicator.running.end()) return transfer.uses;
    const auto& [cost, load, foreseen] = running->second;
    return flow::ShareUses(collective::TrafficOf(topology_, places, load, cost));
  }
  std::uint64_t rate = 0;
  for (const flow::LinkUse& use : transfer.Links()) rate = std::max(rate, use.bytes_per_second);
  return flow::ShareUses(
      collective::TrafficBetween(topology_, places[key.from], places[key.to], rate));
}

void Job::ForgetRoutes() {
  for (auto& [id, communicator] : communicators_) communicator.routes.Clear();
}

void Job::Finished(flow::Finish finish) {
  const auto found = communicators_.find(finish.key.communicator);
  if (found == communicators_.end() || found->second.failure) return;
  Communicator& communicator = found->second;
  if (finish.key.image != 0) {
    // Mirrored ranks wait for nothing.
  } else if (finish.key.point_to_point) {
    const Pair pair{static_cast<std::int32_t>(finish.key.from),
                    static_cast<std::int32_t>(finish.key.to), finish.key.sequence};
    for (TransferTable::Done& done : communicator.transfers.Finish(pair, finish)) {
      CommitGroup(communicator, std::move(done));
    }
  } else {
    CommitCollective(communicator, std::move(finish));
  }
  if (communicator.gone_count == communicator.members.size()) EraseIfAbandoned(communicator.id);
}

std::span<const Decider> Job::DecidersOf(const flow::TransferKey& key) const {
  if (key.point_to_point || key.image != 0) return {};
  return quarantine_.DecidersOf(key.communicator);
}

// Returns whether every running transfer ends before anything that the deciding ranks start later.
bool Job::AllForeseen(const Communicator& communicator) {
  return std::ranges::all_of(communicator.running, [](const auto& running) {
    return running.second.foreseen.has_value();
  });
}

bool Job::Foresee(const flow::Finish& finish) {
  const auto found = communicators_.find(finish.key.communicator);
  if (found == communicators_.end() || found->second.failure) return true;
  Communicator& communicator = found->second;
  const auto running = communicator.running.find(finish.key.sequence);
  if (running == communicator.running.end()) return true;
  // Collectives of one communicator follow each other.
  const bool is_first = std::all_of(communicator.running.begin(), running, [](const auto& before) {
    return before.second.foreseen.has_value();
  });
  if (!is_first || !communicator.transfers.Idle()) return false;
  for (const Quarantine::Id id : quarantine_.RivalsOf(communicator.id)) {
    const Communicator& rival = communicators_.at(id);
    if (!rival.collectives.Idle() || !rival.transfers.Idle() || !AllForeseen(rival)) return false;
  }
  running->second.foreseen = finish.finish;
  TellCommitted(communicator, running->second.cost, finish, true);
  return true;
}

void Job::CommitCollective(Communicator& communicator, flow::Finish finish) {
  const auto running = communicator.running.extract(finish.key.sequence);
  CHECK(!running.empty());
  const Running& ended = running.mapped();
  audience_.Ended(ended.cost.algorithm, ended.cost.protocol);
  if (!ended.foreseen) return TellCommitted(communicator, ended.cost, finish, false);
  if (*ended.foreseen == finish.finish) return;
  audience_.MissedForeseenEnd();
  base::Log(base::Level::kWarning, "foreseen_end_missed",
            {{"communicator", communicator.Title()},
             {"sequence", StrCat(finish.key.sequence)},
             {"picoseconds", StrCat((finish.finish - *ended.foreseen).ps)}});
}

void Job::TellCommitted(const Communicator& communicator, const Cost& cost,
                        const flow::Finish& finish, bool foreseen) {
  const auto spent = std::make_shared<const flow::Spent>(finish.spent);
  for (std::uint32_t server : communicator.servers) {
    Tell(server, CommittedNotice{.communicator = communicator.id,
                                 .sequence = finish.key.sequence,
                                 .rank = -1,
                                 .start = finish.start,
                                 .finish = finish.finish,
                                 .algorithm = cost.algorithm,
                                 .protocol = cost.protocol,
                                 .channels = cost.channels,
                                 .relative_error = cost.relative_error,
                                 .is_assumed = tuning_.fixed.has_value(),
                                 .spent = spent,
                                 .foreseen = foreseen});
  }
}

void Job::CommitGroup(const Communicator& communicator, TransferTable::Done done) {
  if (communicator.IsMirrored(static_cast<std::size_t>(done.group.rank))) return;
  const collective::TransferCost cost =
      CostBetween(communicator, done.group.rank, done.largest_peer, done.bytes_max);
  audience_.Ended(collective::Algorithm::kPointToPoint, cost.protocol);
  Tell(communicator.members[static_cast<std::size_t>(done.group.rank)].server,
       CommittedNotice{.communicator = communicator.id,
                       .sequence = done.group.sequence,
                       .rank = done.group.rank,
                       .start = done.start,
                       .finish = done.finish,
                       .algorithm = collective::Algorithm::kPointToPoint,
                       .protocol = cost.protocol,
                       .channels = cost.channels,
                       .relative_error = cost.relative_error,
                       .is_assumed = tuning_.fixed.has_value(),
                       .spent = std::make_shared<const flow::Spent>(std::move(done.spent))});
}

Result<Cost> Job::Estimate(std::uint64_t id, const Operation& operation) const {
  const auto found = communicators_.find(id);
  if (found == communicators_.end()) {
    return base::Fail(base::ErrorCode::kNotFound, StrCat("communicator ", id, " is unknown"));
  }
  const Communicator& communicator = found->second;
  const auto size = static_cast<std::int32_t>(communicator.members.size());
  if (auto checked = Check(operation, size); !checked) return std::unexpected(checked.error());
  if (operation.kind != Kind::kPointToPoint) {
    Cost cost =
        collective::CostOf({.kind = operation.kind, .bytes = operation.bytes}, communicator.shape);
    const auto uses = collective::TrafficOf(topology_, communicator.places,
                                            LoadOf(operation, communicator.shape), cost);
    cost.at_least = cost.Total();
    cost.transfer = collective::TimeOver(topology_, uses, cost.transfer);
    cost.memory_bytes = MemoryBytesOf(operation, communicator.shape);
    return cost;
  }
  Cost cost = collective::CostOfAnyTransfer(communicator.shape, BytesOf(operation));
  cost.memory_bytes = MemoryBytesOf(operation, communicator.shape);
  return cost;
}

// Forgets a communicator that nobody can call or hear of any more.
void Job::EraseIfAbandoned(std::uint64_t id) {
  const auto found = communicators_.find(id);
  if (found == communicators_.end()) return;
  const Communicator& communicator = found->second;
  if (communicator.gone_count < communicator.members.size()) return;
  // Members that left still hear of what they had started.
  const bool silent = communicator.running.empty() && communicator.collectives.Idle() &&
                      communicator.transfers.Idle();
  const bool unheard =
      std::all_of(communicator.servers.begin(), communicator.servers.end(),
                  [this](std::uint32_t server) { return disconnected_.contains(server); });
  if (!silent && !unheard) return;
  if (!silent) audience_.Cancel(number_, id);
  for (std::uint32_t server : communicator.servers) communicators_of_[server].erase(id);
  quarantine_.Leave(id);
  communicators_.erase(found);
}

}  // namespace eidolon::network::communicator
