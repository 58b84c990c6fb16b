// A mirrored rank sends no message, so everything about it follows from what live members say. The
// first arrival names all members by global rank, and a rank's place is arithmetic: rank r has GPU
// r % n of server r / n. Check refuses every other placement, because the functions here divide by
// that rule without a further check. Images come from shifting the members' lattice; a group
// without such a lattice has no images, and the groups of mirrored ranks like it then load no link.
#include "services/network/communicator/folded_members.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/contract/folding/images.h"

namespace eidolon::network::communicator {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

const Arrival& FirstOf(const Gathering& gathering) {
  const auto first = std::ranges::find_if(gathering.arrivals(),
                                          [](const auto& arrival) { return arrival.has_value(); });
  CHECK(first != gathering.arrivals().end());
  return **first;
}

}  // namespace

Result<void> FoldedMembers::Check(const Member& member) const {
  if (!any()) return {};
  const auto rank = static_cast<std::uint32_t>(member.global_rank);
  if (rank < fold_.ranks() && rank / ranks_per_server_ == member.server &&
      rank % ranks_per_server_ == member.device) {
    return {};
  }
  return base::Fail(ErrorCode::kUnsupported,
                    StrCat("rank ", member.global_rank, " uses GPU ", member.device, " of server ",
                           member.server, "; in a folded job of ", ranks_per_server_,
                           " ranks a server, rank r must use GPU r % ", ranks_per_server_,
                           " of server r / ", ranks_per_server_));
}

Result<Gathering> FoldedMembers::GatheringOf(std::int32_t size, const Arrival& arrival) const {
  if (!any()) return Gathering(size);
  if (arrival.members.size() != static_cast<std::size_t>(size) ||
      arrival.members.back() >= fold_.ranks()) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("rank ", arrival.member.global_rank, " names ", arrival.members.size(),
                             " members of a communicator of ", size, " ranks"));
  }
  std::vector<bool> mirrored_ranks;
  for (const std::uint32_t rank : arrival.members) mirrored_ranks.push_back(!fold_.IsLive(rank));
  return Gathering(std::move(mirrored_ranks));
}

std::vector<Arrival> FoldedMembers::Everyone(const Gathering& gathering) const {
  std::vector<Arrival> all;
  for (std::size_t rank = 0; rank < gathering.arrivals().size(); ++rank) {
    const auto& arrival = gathering.arrivals()[rank];
    if (arrival) {
      all.push_back(*arrival);
      continue;
    }
    const std::uint32_t global = FirstOf(gathering).members[rank];
    all.push_back({.member = {.global_rank = static_cast<std::int32_t>(global),
                              .server = global / ranks_per_server_,
                              .device = global % ranks_per_server_},
                   .rank = static_cast<std::int32_t>(rank)});
  }
  return all;
}

Result<std::shared_ptr<const MirroredRanks>> FoldedMembers::MirroredRanksOf(
    const Gathering& gathering) const {
  auto mirrored_ranks = MirroredRanks::Of(fold_, FirstOf(gathering).members);
  if (!mirrored_ranks) return std::unexpected(mirrored_ranks.error());
  if (mirrored_ranks->count() == 0) return nullptr;
  return std::make_shared<const MirroredRanks>(std::move(*mirrored_ranks));
}

std::vector<std::vector<topology::Place>> FoldedMembers::ImagesOf(
    const topology::Topology& topology, std::span<const std::uint32_t> placement,
    std::span<const Member> members) const {
  std::vector<std::vector<topology::Place>> images;
  const auto domain = [&](const Member& member) {
    return topology.DomainOf(placement[member.server]);
  };
  const bool is_inside = std::ranges::all_of(
      members, [&](const Member& member) { return domain(member) == domain(members.front()); });
  if (!any() || is_inside) return images;
  std::vector<std::uint32_t> ranks;
  for (const Member& member : members) {
    ranks.push_back(static_cast<std::uint32_t>(member.global_rank));
  }
  const auto lattice = folding::LatticeOf(ranks);
  if (!lattice) return images;
  for (const std::uint32_t origin : folding::ImagesOf(fold_, *lattice)) {
    std::vector<topology::Place>& places = images.emplace_back();
    for (const std::uint32_t rank : ranks) {
      const std::uint32_t moved = rank - ranks[0] + origin;
      places.push_back({placement[moved / ranks_per_server_], moved % ranks_per_server_});
    }
  }
  return images;
}

}  // namespace eidolon::network::communicator
