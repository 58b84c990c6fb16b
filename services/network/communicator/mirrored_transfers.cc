// A mirrored rank has no process that could say with whom it exchanges data, so its sends and
// receives are those of its twin, moved round the communicator by the distance between the two. The
// move is right for a step of a ring only: where a group sends to distance d, it also receives as
// many bytes from distance -d. The stages of a pipeline fail this test, because a stage that sends
// to the next one does not receive from the previous one in the same group. Then the ranks are not
// alike, and DifferenceOf proposes the dimension that separates them. Each mirrored group keeps the
// call order of its twin, since the values of its sends are cut from the twin's payload in that
// order.
#include "services/network/communicator/mirrored_transfers.h"

#include <algorithm>
#include <optional>
#include <string>

#include "services/contract/folding/images.h"

namespace eidolon::network::communicator {

namespace {

// A pair of this few possible positions is tried for a row of them at once: a pipeline's stages in
// pairs.
constexpr std::uint32_t kFewPositions = 8;

// Returns whether the group also has the other half of the step: a receive for a send.
bool IsOfRing(const Operation& operation, const TransferCall& call, std::int32_t rank,
              std::int32_t size) {
  const std::int32_t opposite = ((2 * rank - call.peer) % size + size) % size;
  return std::ranges::any_of(operation.transfers, [&](const TransferCall& other) {
    return other.send != call.send && other.peer == opposite && other.bytes == call.bytes;
  });
}

}  // namespace

std::optional<std::int32_t> FindUnlike(const MirroredRanks& mirrored_ranks, std::int32_t rank,
                                       const Operation& operation) {
  const auto size = static_cast<std::int32_t>(mirrored_ranks.size());
  for (const TransferCall& call : operation.transfers) {
    if (mirrored_ranks.IsMirrored(call.peer) && !IsOfRing(operation, call, rank, size))
      return call.peer;
  }
  return std::nullopt;
}

std::vector<folding::Dimension> DifferenceOf(std::span<const std::uint32_t> members,
                                             std::int32_t rank, std::int32_t peer,
                                             std::uint32_t job_ranks,
                                             std::span<const folding::Dimension> known) {
  const auto lattice = folding::LatticeOf(members);
  const bool is_row = lattice && lattice->dimensions.size() == 1 && members.size() > 2 &&
                      members.size() < job_ranks;
  if (is_row) return lattice->dimensions;
  const std::uint32_t own = members[static_cast<std::size_t>(rank)];
  const std::uint32_t other = members[static_cast<std::size_t>(peer)];
  const std::uint32_t step = std::max(own, other) - std::min(own, other);
  if (step == 0 || job_ranks % step != 0 || job_ranks / step < 2) {
    return {{.stride = 1, .size = job_ranks}};
  }
  const std::uint32_t positions = job_ranks / step;
  const folding::Dimension halves = {.stride = step, .size = 2};
  const bool begins_two = members.size() == 2 && std::min(own, other) / step % 2 == 0;
  if (begins_two && positions > kFewPositions && positions % 2 == 0 &&
      std::ranges::count(known, halves) == 0) {
    return {halves};
  }
  return {{.stride = step, .size = positions}};
}

std::vector<MirroredGroup> MirroredGroupsOf(const MirroredRanks& mirrored_ranks, std::int32_t rank,
                                            const Operation& operation, const Payload& payload) {
  std::map<std::int32_t, MirroredGroup> groups;
  const auto size = static_cast<std::int32_t>(mirrored_ranks.size());
  std::size_t offset = 0;  // Of the send's bytes in the payload.
  for (const TransferCall& call : operation.transfers) {
    const bool is_mirrored = IsOfRing(operation, call, rank, size);
    for (const std::int32_t live : mirrored_ranks.live()) {
      if (!is_mirrored) break;
      const std::int32_t mirrored_rank = ((live - (call.peer - rank)) % size + size) % size;
      if (mirrored_ranks.TwinOf(mirrored_rank) != rank) continue;
      MirroredGroup& group = groups[mirrored_rank];
      if (group.operation.transfers.empty()) group.payload = std::string();
      group.rank = mirrored_rank;
      group.operation.kind = operation.kind;
      TransferCall mirrored = call;
      mirrored.peer = live;
      group.operation.transfers.push_back(mirrored);
      if (!call.send || !group.payload) continue;
      if (payload && offset + call.bytes <= payload->size()) {
        *group.payload += payload->substr(offset, call.bytes);
      } else {
        group.payload.reset();
      }
    }
    if (call.send) offset += call.bytes;
  }
  std::vector<MirroredGroup> all;
  for (auto& [mirrored_rank, group] : groups) all.push_back(std::move(group));
  return all;
}

}  // namespace eidolon::network::communicator
