#include "services/network/communicator/gathering.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::communicator {

base::Result<bool> Gathering::Enter(std::int32_t size, Arrival arrival) {
  using base::ErrorCode;
  using base::Fail;
  using base::StrCat;
  if (size != this->size()) {
    return Fail(
        ErrorCode::kFailedPrecondition,
        StrCat("rank ", arrival.rank, " (global rank ", arrival.member.global_rank,
               ") joins a communicator of ", size, " ranks that others join with ", this->size()));
  }
  if (arrival.rank < 0 || arrival.rank >= size) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("rank ", arrival.rank, " joins a communicator of ", size, " ranks"));
  }
  auto& place = arrivals_[static_cast<std::size_t>(arrival.rank)];
  if (place) {
    return Fail(
        ErrorCode::kFailedPrecondition,
        StrCat("global ranks ", std::min(place->member.global_rank, arrival.member.global_rank),
               " and ", std::max(place->member.global_rank, arrival.member.global_rank),
               " both join a communicator as rank ", arrival.rank));
  }
  const auto first = std::find_if(arrivals_.begin(), arrivals_.end(),
                                  [](const auto& other) { return other.has_value(); });
  if (first != arrivals_.end() && (*first)->members != arrival.members) {
    return Fail(
        ErrorCode::kFailedPrecondition,
        StrCat("global ranks ", (*first)->member.global_rank, " and ", arrival.member.global_rank,
               " name different members of the communicator that both join"));
  }
  place = std::move(arrival);
  return ++present_ == callers_;
}

base::SimTime Gathering::LatestReady() const {
  base::SimTime latest;
  for (const auto& arrival : arrivals_) {
    if (arrival) latest = std::max(latest, arrival->ready);
  }
  return latest;
}

bool Gathering::WaitsFor(std::uint32_t global_rank) const {
  const auto first =
      std::ranges::find_if(arrivals_, [](const auto& one) { return one.has_value(); });
  if (first == arrivals_.end()) return false;
  const std::vector<std::uint32_t>& members = (*first)->members;
  const auto place = std::ranges::find(members, global_rank);
  if (place == members.end()) return false;
  const auto rank = static_cast<std::size_t>(place - members.begin());
  return !mirrored_ranks_[rank] && !arrivals_[rank];
}

base::Result<void> CheckDistinct(const std::vector<Arrival>& arrivals) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, const Arrival*> users;
  for (const Arrival& arrival : arrivals) {
    const auto [at, fresh] =
        users.try_emplace({arrival.member.server, arrival.member.device}, &arrival);
    if (fresh) continue;
    return base::Fail(base::ErrorCode::kFailedPrecondition,
                      base::StrCat("duplicate GPU: ranks ", at->second->rank, " and ", arrival.rank,
                                   " of a communicator both use GPU ", arrival.member.device,
                                   " of server ", arrival.member.server));
  }
  return {};
}

std::vector<SplitGroup> SplitByColor(const std::vector<std::optional<Arrival>>& arrivals) {
  std::map<std::int32_t, std::vector<Arrival>> by_color;
  for (const auto& arrival : arrivals) {
    CHECK(arrival.has_value());
    if (arrival->color >= 0) by_color[arrival->color].push_back(*arrival);
  }
  std::vector<SplitGroup> groups;
  for (auto& [color, members] : by_color) {
    std::sort(members.begin(), members.end(), [](const Arrival& a, const Arrival& b) {
      return std::tie(a.key, a.rank) < std::tie(b.key, b.rank);
    });
    groups.push_back({.color = color, .arrivals = std::move(members)});
  }
  return groups;
}

}  // namespace eidolon::network::communicator
