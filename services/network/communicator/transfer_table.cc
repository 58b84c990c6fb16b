// NCCL matches sends and receives by order: the n-th send from a to b belongs to the n-th receive
// of b from a, whatever groups they are called in. So a pair is the key, and each side of it names
// its group. A group counts its transfers down, and an event touches the two groups of one pair
// instead of all open calls. A group is erased only when its last transfer has ended, hence every
// pair in `pairs_` has the groups of both sides it names. A transfer may end before its group has
// all values: Finish then keeps the received bytes in the group, because the pair is gone.
#include "services/network/communicator/transfer_table.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::communicator {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::SimTime;
using base::StrCat;

namespace {

// The parts of a group's input that belong to its sends, in call order; nothing when the input is
// not known or does not have the sends' size.
std::vector<Payload> SplitInput(const Operation& operation, const Payload& input) {
  std::uint64_t total = 0;
  for (const TransferCall& call : operation.transfers) {
    if (call.send && call.bytes > kValueBytesLimit) return {};
    if (call.send) total += call.bytes;
  }
  std::vector<Payload> parts(operation.transfers.size());
  if (!input || input->size() != total) return {};
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!operation.transfers[i].send) continue;
    parts[i] = input->substr(at, operation.transfers[i].bytes);
    at += operation.transfers[i].bytes;
  }
  return parts;
}

// NCCL compares no sizes. Up to 16 KiB (NCCL_P2P_LL_THRESHOLD) both sides choose the protocol LL,
// whose lines carry eight bytes each: a receive ends when its lines have come, whatever else was
// sent. PyTorch 2.9's pipelines, whose stages send a number of eight bytes and receive one of four,
// depend on it. Longer ones may choose different protocols, and wait.
bool EndsAllTheSame(std::uint64_t send, std::uint64_t receive) {
  constexpr std::uint64_t kLowLatencyMax = 16 * 1024, kLine = 8;
  return send > 0 && receive > 0 && send <= kLowLatencyMax && receive <= kLowLatencyMax &&
         (receive + kLine - 1) / kLine <= (send + kLine - 1) / kLine;
}

// What a receive of so many bytes has of what was sent.
Payload ReceivedOf(Payload sent, std::uint64_t receive) {
  if (!sent || sent->size() < receive) return std::nullopt;
  sent->resize(receive);
  return sent;
}

}  // namespace

Result<void> TransferTable::AddCall(GroupId id, Group& group, const TransferCall& call,
                                    Payload sent) {
  const Pair pair =
      call.send ? Pair{id.rank, call.peer, call.sequence} : Pair{call.peer, id.rank, call.sequence};
  Sides& sides = pairs_[pair];
  std::optional<Side>& own = call.send ? sides.send : sides.receive;
  const std::optional<Side>& other = call.send ? sides.receive : sides.send;
  if (own) {
    return Fail(
        ErrorCode::kInvalidArgument,
        StrCat("rank ", id.rank, call.send ? " sends" : " receives", " number ", call.sequence,
               call.send ? " to rank " : " from rank ", call.peer, " twice"));
  }
  const std::uint64_t send = call.send || !other ? call.bytes : other->bytes;
  const std::uint64_t receive = call.send && other ? other->bytes : call.bytes;
  if (send != receive && !EndsAllTheSame(send, receive)) {
    return Fail(
        ErrorCode::kFailedPrecondition,
        StrCat("rank ", pair.from, " sends ", send, " bytes to rank ", pair.to, ", which receives ",
               receive, " bytes (number ", pair.sequence, " of this pair)"));
  }
  own = Side{.group = id, .bytes = call.bytes, .bytes_sent = std::move(sent)};
  if (send != receive) sides.send->bytes_sent = ReceivedOf(sides.send->bytes_sent, receive);
  group.pairs.push_back(pair);
  if (call.send) {
    if (sides.receive) --groups_.at(sides.receive->group).unmet;
  } else {
    group.receives.push_back(pair);
    group.smallest_receive = std::min(group.smallest_receive, call.bytes);
    if (!sides.send) ++group.unmet;
  }
  if (call.bytes >= group.bytes_max) {
    group.bytes_max = call.bytes;
    group.largest_sends = call.send;
    group.largest_peer = call.peer;
  }
  return {};
}

std::optional<TransferTable::Values> TransferTable::ValuesOf(GroupId id, Group& group) {
  if (group.unmet > 0 || group.receives.empty() || group.values_sent) return std::nullopt;
  group.values_sent = true;
  bool known = true;
  std::string all;
  bool any_known = false;
  for (const Pair& pair : group.receives) {
    const auto open = pairs_.find(pair);
    const Payload& sent =
        open == pairs_.end() ? group.arrived.at(pair) : open->second.send->bytes_sent;
    known = known && sent.has_value();
    any_known = any_known || sent.has_value();
    if (known) all += *sent;
  }
  // Nobody waits for the values of longer receives.
  if (!any_known && group.smallest_receive > kValueBytesLimit) return std::nullopt;
  return Values{.group = id, .result = known ? Payload(std::move(all)) : std::nullopt};
}

Result<std::vector<TransferTable::Values>> TransferTable::Issue(GroupId id,
                                                                const Operation& operation,
                                                                Payload input) {
  if (!done_[id.rank].Insert(id.sequence)) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("rank ", id.rank, " calls its group ", id.sequence, " twice"));
  }
  Group& group = groups_[id];
  const std::vector<Payload> parts = SplitInput(operation, input);
  for (std::size_t at = 0; at < operation.transfers.size(); ++at) {
    const TransferCall& call = operation.transfers[at];
    auto added = AddCall(id, group, call, parts.empty() ? std::nullopt : parts[at]);
    if (!added) return std::unexpected(added.error());
  }
  group.left = group.pairs.size();
  // This group's sends may have been the last that partners' receives lacked.
  std::vector<Values> values;
  for (const Pair& pair : group.pairs) {
    const Sides& sides = pairs_.at(pair);
    if (!sides.receive || pair.from != id.rank) continue;
    if (auto ready = ValuesOf(sides.receive->group, groups_.at(sides.receive->group))) {
      values.push_back(std::move(*ready));
    }
  }
  if (auto own = ValuesOf(id, group)) values.push_back(std::move(*own));
  return values;
}

Result<std::vector<TransferTable::Ready>> TransferTable::Post(GroupId id, SimTime ready) {
  const auto found = groups_.find(id);
  if (found == groups_.end() || found->second.posted) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("rank ", id.rank, " reaches its group ", id.sequence,
                       found == groups_.end() ? " without having called it" : " twice"));
  }
  Group& group = found->second;
  group.posted = true;
  group.ready = ready;
  std::vector<Ready> started;
  for (const Pair& pair : group.pairs) {
    Sides& sides = pairs_.at(pair);
    if (sides.started || !sides.send || !sides.receive) continue;
    const Group& sender = groups_.at(sides.send->group);
    const Group& receiver = groups_.at(sides.receive->group);
    if (!sender.posted || !receiver.posted) continue;
    sides.started = true;
    started.push_back({.pair = pair,
                       .bytes = sides.send->bytes,
                       .start = std::max(sender.ready, receiver.ready)});
  }
  return started;
}

void TransferTable::Bound(GroupId id, SimTime ready) {
  const auto found = groups_.find(id);
  if (found == groups_.end() || found->second.posted) return;
  found->second.ready = std::max(found->second.ready, ready);
}

std::vector<TransferTable::Ready> TransferTable::BoundsOf(GroupId id) const {
  std::vector<Ready> bounds;
  const auto found = groups_.find(id);
  if (found == groups_.end()) return bounds;
  for (const Pair& pair : found->second.pairs) {
    const auto open = pairs_.find(pair);
    if (open == pairs_.end() || !open->second.send || !open->second.receive) continue;
    const Group& sender = groups_.at(open->second.send->group);
    const Group& receiver = groups_.at(open->second.receive->group);
    bounds.push_back({.pair = pair,
                      .bytes = open->second.send->bytes,
                      .start = std::max(sender.ready, receiver.ready)});
  }
  return bounds;
}

std::optional<std::uint64_t> TransferTable::TakeTold(const Pair& pair, SimTime end) {
  const GroupId id = pairs_.at(pair).receive->group;
  Group& receiver = groups_.at(id);
  if (receiver.pairs.size() != 1 || end <= receiver.told) return std::nullopt;
  receiver.told = end;
  return id.sequence;
}

std::vector<TransferTable::Done> TransferTable::Finish(const Pair& pair,
                                                       const flow::Finish& finish) {
  const auto found = pairs_.find(pair);
  CHECK(found != pairs_.end() && found->second.started);
  std::vector<GroupId> concerned = {found->second.send->group, found->second.receive->group};
  const bool own =
      concerned[0] == concerned[1];  // A rank that sends to itself lists the pair twice.
  if (Group& receiver = groups_.at(concerned[1]); !receiver.values_sent) {
    receiver.arrived.emplace(pair, std::move(found->second.send->bytes_sent));
  }
  pairs_.erase(found);
  std::sort(concerned.begin(), concerned.end());
  if (own) concerned.pop_back();
  std::vector<Done> done;
  for (const GroupId& id : concerned) {
    Group& group = groups_.at(id);
    group.start = std::min(group.start, finish.start);
    if (finish.finish > group.finish) {
      group.finish = finish.finish;
      group.spent = finish.spent;
    }
    group.left -= own ? 2 : 1;
    if (group.left > 0) continue;
    done.push_back({.group = id,
                    .start = group.start,
                    .finish = group.finish,
                    .bytes_max = group.bytes_max,
                    .largest_sends = group.largest_sends,
                    .largest_peer = group.largest_peer,
                    .spent = std::move(group.spent)});
    groups_.erase(id);
  }
  return done;
}

std::vector<TransferTable::Incomplete> TransferTable::Unfinished() const {
  std::vector<Incomplete> all;
  for (const auto& [pair, sides] : pairs_) {
    if (sides.started) continue;
    const bool sender = sides.send && groups_.at(sides.send->group).posted;
    const bool receiver = sides.receive && groups_.at(sides.receive->group).posted;
    if (!sender && !receiver) continue;
    all.push_back({.pair = pair,
                   .bytes = sender ? sides.send->bytes : sides.receive->bytes,
                   .sender_waits = sender,
                   .partner_called = sender ? sides.receive.has_value() : sides.send.has_value()});
  }
  return all;
}

bool TransferTable::Misses(std::int32_t rank) const {
  return std::ranges::any_of(pairs_, [rank](const auto& entry) {
    const auto& [pair, sides] = entry;
    return (pair.from == rank && !sides.send.has_value()) ||
           (pair.to == rank && !sides.receive.has_value());
  });
}

bool TransferTable::Needs(std::int32_t rank) const {
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& entry) {
    const auto& [pair, sides] = entry;
    if (sides.started) return false;
    const auto posted = [&](const std::optional<Side>& side) {
      return side && groups_.at(side->group).posted;
    };
    return (pair.from == rank && !posted(sides.send) && sides.receive.has_value()) ||
           (pair.to == rank && !posted(sides.receive) && sides.send.has_value());
  });
}

}  // namespace eidolon::network::communicator
