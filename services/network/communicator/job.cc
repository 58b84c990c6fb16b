// Messages of servers come in any order, and no result may depend on it. So meetings are keyed by
// what members say, and a communicator's id derives from its first live member's device and
// ordinal. A mistake of the program fails the communicator for all servers; only a wrong message is
// the caller's error. Maps are ordered, because their order is that of notices.
#include "services/network/communicator/job.h"

#include <algorithm>
#include <numeric>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/contract/folding/rank_runs.h"
#include "services/network/collective/buffers.h"
#include "services/network/communicator/mirrored_transfers.h"
#include "services/network/communicator/report.h"

namespace eidolon::network::communicator {

using base::ErrorCode;
using base::Result;
using base::SimTime;
using base::StrCat;

namespace {

std::unexpected<base::Error> Invalid(std::string message) {
  return base::Fail(ErrorCode::kInvalidArgument, std::move(message));
}

std::vector<std::uint32_t> RanksOf(std::span<const Member> members) {
  std::vector<std::uint32_t> ranks;
  for (const Member& member : members) {
    ranks.push_back(static_cast<std::uint32_t>(member.global_rank));
  }
  return ranks;
}

}  // namespace

Job::Job(std::uint64_t number, const topology::Topology& topology, JobPlan plan, Audience& audience)
    : number_(number),
      topology_(topology),
      placement_(std::move(plan.placement)),
      audience_(audience),
      tuning_(std::move(plan.tuning)),
      folded_(std::move(plan.fold), plan.ranks_per_server),
      row_broadcasts_(folded_.fold()),
      quarantine_(topology_, placement_),
      work_(folded_.fold()),
      communicators_of_(placement_.size()) {
  for (std::uint32_t position : placement_) CHECK(topology_.Contains({position, 0}));
  CHECK(!folded_.any() || folded_.fold().ranks() == placement_.size() * folded_.ranks_per_server());
}

std::vector<std::uint32_t> Job::LiveServers() const {
  if (folded_.any()) return folded_.fold().LiveServers(folded_.ranks_per_server());
  std::vector<std::uint32_t> all(placement_.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

void Job::Tell(std::uint32_t server, Notice notice) {
  if (disconnected_.contains(server)) return;
  if (auto* failed = std::get_if<FailedNotice>(&notice)) {
    failed->server_gone = !disconnected_.empty();
  }
  audience_.Tell(number_, server, std::move(notice));
}

Result<void> Job::CheckMember(std::uint32_t server, const Member& member) const {
  CHECK(server < placement_.size());
  if (member.server != server) {
    return Invalid(StrCat("server ", server, " speaks for a member of server ", member.server));
  }
  if (!topology_.Contains({placement_[server], member.device})) {
    return Invalid(StrCat("rank ", member.global_rank, " uses GPU ", member.device,
                          " of a server with ", topology_.wiring().cluster.gpus_per_server));
  }
  return folded_.Check(member);
}

std::uint32_t Job::NextOrdinal(const Member& member) {
  return ordinals_[{member.server, member.device}]++;
}

// A mirrored rank may be the one that makes a unique id, and then live members hold different ids.
// So they meet by the list of members, and by how often a rank has entered one with this list.
std::string Job::MeetingOf(const Arrival& arrival, std::uint64_t parent) {
  std::string name = parent == 0 ? std::string() : StrCat("split of ", parent, ": ");
  for (const folding::RankRun& run : folding::RunsOf(arrival.members)) {
    name += StrCat(run.first, "+", run.step, "x", run.count, " ");
  }
  const std::uint32_t before = entered_[{arrival.member.global_rank, name}]++;
  return StrCat(name, "#", before);
}

Result<void> Job::Join(std::uint32_t server, const std::string& unique_id, std::int32_t size,
                       Arrival arrival) {
  if (auto checked = CheckMember(server, arrival.member); !checked) return checked;
  // Larger than any cluster: a damaged message.
  if (size < 1 || size > (1 << 20)) {
    return Invalid(StrCat("a communicator of ", size, " ranks"));
  }
  arrival.ordinal = NextOrdinal(arrival.member);
  const std::uint64_t request = arrival.request;
  auto gathering = folded_.GatheringOf(size, arrival);
  if (!gathering) return std::unexpected(gathering.error());
  const std::string name = folded_.any() ? MeetingOf(arrival, 0) : unique_id;
  auto [at, inserted] = joins_.try_emplace(name, std::move(*gathering));
  const auto entered = at->second.Enter(size, std::move(arrival));
  if (!entered) {
    // The newcomer and those who wait are all told: NCCL's bootstrap fails for everyone.
    Tell(server, FailedNotice{.request = request, .reason = entered.error().message});
    FailGathering(at->second, entered.error().message);
    joins_.erase(at);
    return {};
  }
  if (*entered) {
    CompleteJoin(at->second);
    joins_.erase(at);
  }
  return {};
}

Result<void> Job::Split(std::uint32_t server, std::uint64_t parent, Arrival arrival) {
  auto found = Find(server, parent, arrival.rank);
  if (!found) return std::unexpected(found.error());
  Communicator& communicator = **found;
  const auto rank = static_cast<std::size_t>(arrival.rank);
  arrival.member = communicator.members[rank];
  arrival.ordinal = NextOrdinal(arrival.member);
  if (communicator.failure) {
    Tell(server, FailedNotice{.request = arrival.request, .reason = *communicator.failure});
    return {};
  }
  if (folded_.any()) return SplitFolded(communicator, std::move(arrival));
  const std::uint32_t which = communicator.split_calls[rank]++;
  const auto size = static_cast<std::int32_t>(communicator.members.size());
  Gathering& gathering = communicator.splits.try_emplace(which, Gathering(size)).first->second;
  const auto entered = gathering.Enter(size, std::move(arrival));
  CHECK(entered.has_value());
  if (!*entered) {
    FailSplitsInVain(communicator);
    return {};
  }
  const auto node = communicator.splits.extract(which);
  CompleteSplit(communicator, node.mapped());
  return {};
}

// Whoever is in no group need not wait to hear so, and the members of one colour wait for each
// other alone: what the callers of a split have in common does not matter after it. They meet as
// the members that they name: agents send no message for splits that give a rank nothing.
Result<void> Job::SplitFolded(Communicator& parent, Arrival arrival) {
  if (arrival.color < 0) {
    Tell(arrival.member.server,
         JoinedNotice{
             .request = arrival.request,
             .finish = flow::Later(arrival.ready, collective::SplitTime(static_cast<std::uint32_t>(
                                                      parent.members.size())))});
    return {};
  }
  const auto self = static_cast<std::uint32_t>(arrival.member.global_rank);
  const auto place = std::ranges::find(arrival.members, self);
  if (place == arrival.members.end()) {
    return Invalid(StrCat("rank ", self, " names a group that it is not a member of"));
  }
  const auto size = static_cast<std::int32_t>(arrival.members.size());
  auto made = folded_.GatheringOf(size, arrival);
  if (!made) return std::unexpected(made.error());
  const std::string key = MeetingOf(arrival, parent.id);
  Gathering& gathering = parent.folded_splits.try_emplace(key, std::move(*made)).first->second;
  arrival.rank = static_cast<std::int32_t>(place - arrival.members.begin());
  const auto entered = gathering.Enter(size, std::move(arrival));
  if (!entered) {
    Fail(parent, entered.error().message);
    return {};
  }
  if (!*entered) {
    FailSplitsInVain(parent);
    return {};
  }
  const auto node = parent.folded_splits.extract(key);
  CompleteFoldedSplit(parent, node.mapped());
  return {};
}

void Job::FailSplitsInVain(Communicator& communicator) {
  for (std::size_t at = 0; at < communicator.gone.size(); ++at) {
    const auto rank = static_cast<std::int32_t>(at);
    if (!communicator.gone[at] || !communicator.SplitsWaitFor(rank)) continue;
    return Fail(communicator, StrCat(NameRanks(communicator.members, {rank}), " has left ",
                                     communicator.Title(), ", which others split"));
  }
}

void Job::CompleteFoldedSplit(Communicator& parent, const Gathering& gathering) {
  std::vector<Arrival> arrivals = folded_.Everyone(gathering);
  // Global ranks ascend in every communicator of a folded job.
  for (Arrival& arrival : arrivals) {
    const auto in_parent = std::ranges::lower_bound(parent.members, arrival.member.global_rank, {},
                                                    &Member::global_rank);
    if (in_parent == parent.members.end() || !(*in_parent == arrival.member)) {
      return FailGathering(gathering, StrCat("rank ", arrival.member.global_rank, " is not in ",
                                             parent.Title(), ", which others split"));
    }
    arrival.rank = static_cast<std::int32_t>(in_parent - parent.members.begin());
  }
  const auto mirrored_ranks = folded_.MirroredRanksOf(gathering);
  if (!mirrored_ranks) return FailGathering(gathering, mirrored_ranks.error().message);
  const SimTime finish =
      flow::Later(gathering.LatestReady(),
                  collective::SplitTime(static_cast<std::uint32_t>(parent.members.size())));
  Announce(Found(arrivals, *mirrored_ranks), arrivals, finish, true);
}

Communicator& Job::Found(const std::vector<Arrival>& arrivals,
                         std::shared_ptr<const MirroredRanks> mirrored_ranks) {
  const auto is_mirrored_rank = [&](std::size_t rank) {
    return mirrored_ranks != nullptr && mirrored_ranks->IsMirrored(static_cast<std::int32_t>(rank));
  };
  std::size_t first = 0;
  while (is_mirrored_rank(first)) ++first;
  const Arrival& leader = arrivals[first];
  const std::uint64_t device = (std::uint64_t{leader.member.server} << 16) + leader.member.device;
  const std::uint64_t id = ((device + 1) << 32) + leader.ordinal;
  std::vector<Decider> acting;
  Communicator& made = communicators_[id];
  CHECK(made.members.empty());
  made.id = id;
  for (const Arrival& arrival : arrivals) {
    if (made.name.empty()) made.name = arrival.name;
    made.members.push_back(arrival.member);
    made.places.push_back({placement_[arrival.member.server], arrival.member.device});
    // Nobody waits for a mirrored rank, and a mirrored rank waits for nobody.
    const std::size_t rank = made.members.size() - 1;
    const bool mirrored_rank = is_mirrored_rank(rank);
    if (!mirrored_rank) made.servers.push_back(arrival.member.server);
    const Member& actor =
        mirrored_rank ? arrivals[mirrored_ranks->TwinOf(static_cast<std::int32_t>(rank))].member
                      : arrival.member;
    acting.push_back({actor.server, actor.device});
    made.gone.push_back(mirrored_rank || disconnected_.contains(arrival.member.server));
    if (made.gone.back()) ++made.gone_count;
  }
  std::sort(made.servers.begin(), made.servers.end());
  made.servers.erase(std::unique(made.servers.begin(), made.servers.end()), made.servers.end());
  for (std::uint32_t server : made.servers) communicators_of_[server].insert(id);
  made.shape = collective::ShapeOf(topology_, made.places);
  made.shape.tuning = tuning_;
  made.mirrored_ranks = std::move(mirrored_ranks);
  made.collectives =
      CollectiveTable(static_cast<std::int32_t>(arrivals.size()), made.mirrored_ranks);
  made.split_calls.assign(arrivals.size(), 0);
  made.images = folded_.ImagesOf(topology_, placement_, made.members);
  made.row = row_broadcasts_.Enter(RanksOf(made.members));
  quarantine_.Enter(id, made.places, made.images, acting);
  return made;
}

void Job::Announce(const Communicator& communicator, const std::vector<Arrival>& arrivals,
                   SimTime finish, bool split) {
  JoinedNotice notice{.communicator = communicator.id,
                      .size = static_cast<std::int32_t>(arrivals.size()),
                      .finish = finish,
                      .channels = collective::BlocksOf(communicator.shape),
                      .buffer_bytes = collective::BufferBytes(communicator.shape)};
  if (folded_.any()) {
    notice.split = collective::SplitTime(static_cast<std::uint32_t>(communicator.members.size()));
  }
  if (split) {
    for (const Arrival& arrival : arrivals) notice.parent_ranks.push_back(arrival.rank);
  }
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    if (communicator.IsMirrored(rank)) continue;
    notice.request = arrivals[rank].request;
    notice.rank = static_cast<std::int32_t>(rank);
    Tell(arrivals[rank].member.server, notice);
  }
}

void Job::CompleteJoin(const Gathering& gathering) {
  const std::vector<Arrival> arrivals = folded_.Everyone(gathering);
  if (const auto distinct = CheckDistinct(arrivals); !distinct) {
    FailGathering(gathering, distinct.error().message);
    return;
  }
  std::shared_ptr<const MirroredRanks> mirrored_ranks;
  if (folded_.any()) {
    auto found = folded_.MirroredRanksOf(gathering);
    if (!found) return FailGathering(gathering, found.error().message);
    mirrored_ranks = std::move(*found);
  }
  const SimTime finish = flow::Later(
      gathering.LatestReady(), collective::InitTime(static_cast<std::uint32_t>(arrivals.size())));
  Announce(Found(arrivals, std::move(mirrored_ranks)), arrivals, finish, false);
}

void Job::CompleteSplit(const Communicator& parent, const Gathering& gathering) {
  const SimTime finish =
      flow::Later(gathering.LatestReady(),
                  collective::SplitTime(static_cast<std::uint32_t>(parent.members.size())));
  for (const auto& arrival : gathering.arrivals()) {
    if (arrival->color >= 0) continue;
    Tell(arrival->member.server, JoinedNotice{.request = arrival->request, .finish = finish});
  }
  for (const SplitGroup& group : SplitByColor(gathering.arrivals())) {
    Announce(Found(group.arrivals, nullptr), group.arrivals, finish, true);
  }
}

Result<Communicator*> Job::Find(std::uint32_t server, std::uint64_t id, std::int32_t rank) {
  const auto found = communicators_.find(id);
  if (found == communicators_.end()) return Invalid(StrCat("communicator ", id, " is unknown"));
  Communicator& communicator = found->second;
  if (rank < 0 || static_cast<std::size_t>(rank) >= communicator.members.size()) {
    return Invalid(StrCat("rank ", rank, " of ", communicator.Title()));
  }
  if (communicator.members[static_cast<std::size_t>(rank)].server != server) {
    return Invalid(StrCat("server ", server, " speaks for rank ", rank, " of ",
                          communicator.Title(), ", which is not its own"));
  }
  return &communicator;
}

// True when the call cannot go on: the caller is told why.
bool Job::Refused(Communicator& communicator, std::uint32_t server) {
  if (communicator.failure) {
    Tell(server, FailedNotice{.communicator = communicator.id, .reason = *communicator.failure});
    return true;
  }
  return false;
}

void Job::FailUnlike(Communicator& communicator, std::int32_t rank, std::int32_t peer,
                     const Operation& operation) {
  std::vector<folding::Dimension> by =
      DifferenceOf(RanksOf(communicator.members), rank, peer, folded_.fold().ranks(),
                   folded_.fold().dimensions());
  std::erase_if(by, [&](const folding::Dimension& dimension) {
    return std::ranges::count(folded_.fold().dimensions(), dimension) > 0;
  });
  const std::int32_t twin = communicator.mirrored_ranks->TwinOf(peer);
  Fail(communicator,
       StrCat(communicator.Title(), ": ", NameRanks(communicator.members, {rank}),
              " sends to or receives from ", NameRanks(communicator.members, {peer}),
              operation.site.empty() ? "" : StrCat(" at ", operation.site),
              ", which is mirrored from ", NameRanks(communicator.members, {twin}),
              " and does nothing like it"),
       by);
}

void Job::Fail(Communicator& communicator, const std::string& reason,
               const std::vector<folding::Dimension>& ranks_differ_by) {
  if (communicator.failure) return;
  communicator.failure = reason;
  communicator.collectives = CollectiveTable(static_cast<std::int32_t>(communicator.members.size()),
                                             communicator.mirrored_ranks);
  communicator.transfers = TransferTable();
  communicator.mirrored_groups.clear();
  communicator.running.clear();
  audience_.Cancel(number_, communicator.id);
  for (const auto& [which, gathering] : communicator.splits) FailGathering(gathering, reason);
  communicator.splits.clear();
  for (const auto& [key, gathering] : communicator.folded_splits) FailGathering(gathering, reason);
  communicator.folded_splits.clear();
  for (std::uint32_t server : communicator.servers) {
    Tell(server, FailedNotice{.communicator = communicator.id,
                              .reason = reason,
                              .ranks_differ_by = ranks_differ_by});
  }
}

void Job::FailGathering(const Gathering& gathering, const std::string& reason) {
  for (const auto& arrival : gathering.arrivals()) {
    if (!arrival) continue;
    Tell(arrival->member.server, FailedNotice{.request = arrival->request, .reason = reason});
  }
}

std::vector<std::string> Job::Waits() const {
  std::vector<std::string> lines;
  for (const auto& [id, gathering] : joins_) {
    lines.push_back(Describe("ncclCommInitRank", gathering, {}));
  }
  for (const auto& [id, communicator] : communicators_) {
    const std::string title = communicator.Title();
    for (const auto& [which, gathering] : communicator.splits) {
      lines.push_back(
          StrCat(title, ": ", Describe("ncclCommSplit", gathering, communicator.members)));
    }
    for (const auto& [key, gathering] : communicator.folded_splits) {
      lines.push_back(StrCat(title, ": ", Describe("ncclCommSplit", gathering, {})));
    }
    for (const auto& incomplete : communicator.collectives.Unfinished()) {
      lines.push_back(StrCat(title, ": ", Describe(incomplete, communicator.members)));
    }
    for (const auto& incomplete : communicator.transfers.Unfinished()) {
      // What mirrored ranks wait for follows from what live members wait for.
      const Pair& pair = incomplete.pair;
      const std::int32_t waits = incomplete.sender_waits ? pair.from : pair.to;
      const std::int32_t partner = incomplete.sender_waits ? pair.to : pair.from;
      if (communicator.IsMirrored(static_cast<std::size_t>(waits))) continue;
      std::string line = StrCat(title, ": ", Describe(incomplete, communicator.members));
      if (communicator.IsMirrored(static_cast<std::size_t>(partner))) {
        const std::string rank = NameRanks(communicator.members, {partner});
        line +=
            StrCat(" (", rank, " is mirrored from ",
                   NameRanks(communicator.members, {communicator.mirrored_ranks->TwinOf(partner)}),
                   ", which does nothing like it: make ", rank, " live)");
      }
      lines.push_back(std::move(line));
    }
  }
  for (const auto& [waiter, giver] : row_broadcasts_.Waiting()) {
    const auto found = communicators_.find(waiter.communicator);
    if (found == communicators_.end() || found->second.failure) continue;
    lines.push_back(StrCat(found->second.Title(), ": broadcast ", waiter.sequence,
                           " from a mirrored rank waits for that of rank ", giver,
                           " in a group like it"));
  }
  return lines;
}

void Job::Depart(Communicator& communicator, std::int32_t rank, const std::string& how) {
  const auto at = static_cast<std::size_t>(rank);
  if (!communicator.gone[at]) ++communicator.gone_count;
  communicator.gone[at] = true;
  const bool splits = communicator.SplitsWaitFor(rank);
  if (!splits && !communicator.IsMissing(rank, disconnected_)) return;
  const std::string reason = StrCat(NameRanks(communicator.members, {rank}), " ", how,
                                    " while others of ", communicator.Title(), " wait for it");
  if (splits) return Fail(communicator, reason);
  WaitInVain(communicator, rank, reason);
}

// Waiting for a member that has left blocks, as on a real cluster: the communicator fails only when
// nothing else happens any more. Waiting for a server that has gone fails at once.
void Job::WaitInVain(Communicator& communicator, std::int32_t rank, const std::string& reason) {
  if (disconnected_.contains(communicator.members[static_cast<std::size_t>(rank)].server)) {
    return Fail(communicator, reason);
  }
  if (communicator.failure || communicator.wait_in_vain) return;
  communicator.wait_in_vain = reason;
  for (const std::uint32_t server : communicator.servers) {
    Tell(server,
         FailedNotice{.communicator = communicator.id, .reason = reason, .job_goes_on = true});
  }
}

bool Job::FailWaitsInVain() {
  bool any = false;
  for (auto& [id, communicator] : communicators_) {
    const bool is_empty = communicator.gone_count == communicator.members.size();
    if (is_empty || communicator.failure || !communicator.wait_in_vain) continue;
    if (!communicator.GoneAndNeeded(disconnected_)) continue;
    Fail(communicator, std::string(*communicator.wait_in_vain));
    any = true;
  }
  return any;
}

Result<void> Job::Leave(std::uint32_t server, std::uint64_t id, std::int32_t rank) {
  auto found = Find(server, id, rank);
  if (!found) return std::unexpected(found.error());
  Depart(**found, rank, "left");
  EraseIfAbandoned(id);
  return {};
}

void Job::Disconnect(std::uint32_t server) {
  if (!disconnected_.insert(server).second) return;
  for (auto at = joins_.begin(); at != joins_.end();) {
    const auto& arrivals = at->second.arrivals();
    const bool present = std::any_of(arrivals.begin(), arrivals.end(), [&](const auto& arrival) {
      return arrival && arrival->member.server == server;
    });
    if (present) {
      FailGathering(at->second, StrCat("server ", server,
                                       " has gone while its ranks wait in "
                                       "ncclCommInitRank"));
    }
    at = present ? joins_.erase(at) : std::next(at);
  }
  const std::set<std::uint64_t> concerned = communicators_of_[server];
  for (std::uint64_t id : concerned) {
    Communicator& communicator = communicators_.at(id);
    for (std::size_t rank = 0; rank < communicator.members.size(); ++rank) {
      if (communicator.members[rank].server != server) continue;
      Depart(communicator, static_cast<std::int32_t>(rank),
             StrCat("has gone with server ", server));
    }
    EraseIfAbandoned(id);
  }
}

}  // namespace eidolon::network::communicator
