#include "services/network/communicator/communicator.h"

#include <algorithm>

#include "services/network/communicator/report.h"

namespace eidolon::network::communicator {

std::string Communicator::Title() const { return NameOf(id, name, members.size()); }

bool Communicator::IsMissing(std::int32_t rank, const std::set<std::uint32_t>& disconnected) const {
  const std::uint32_t server = members[static_cast<std::size_t>(rank)].server;
  if (disconnected.contains(server)) {
    return collectives.Needs(rank) || transfers.Needs(rank);
  }
  return collectives.Misses(rank) || transfers.Misses(rank);
}

bool Communicator::SplitsWaitFor(std::int32_t rank) const {
  const auto at = static_cast<std::size_t>(rank);
  const auto global = static_cast<std::uint32_t>(members[at].global_rank);
  return std::ranges::any_of(splits,
                             [&](const auto& split) { return !split.second.arrivals()[at]; }) ||
         std::ranges::any_of(folded_splits,
                             [&](const auto& split) { return split.second.WaitsFor(global); });
}

std::optional<std::int32_t> Communicator::GoneAndNeeded(
    const std::set<std::uint32_t>& disconnected) const {
  if (gone_count == 0) return std::nullopt;
  for (std::size_t rank = 0; rank < gone.size(); ++rank) {
    const auto at = static_cast<std::int32_t>(rank);
    if (!gone[rank] || IsMirrored(rank)) continue;
    if (IsMissing(at, disconnected)) return at;
  }
  return std::nullopt;
}

}  // namespace eidolon::network::communicator
