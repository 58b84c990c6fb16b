#include "services/critical_path/summary.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "services/base/check.h"

namespace eidolon::critical_path {

using base::Duration;

std::string_view Name(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames = {
      "kernels", "copies", "communication", "launches", "delays", "host", "sleeps", "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

Summary Summarise(std::span<const RankTrace> traces) {
  CHECK(!traces.empty());
  const Path path = FindPath(traces);
  Summary summary{.iteration = traces.front().iteration,
                  .length = path.finish - path.start,
                  .segments = path.segments.size(),
                  .ranks_shown = static_cast<std::uint32_t>(traces.size())};
  for (const RankTrace& trace : traces) summary.left_out += trace.left_out;

  std::map<Kind, Duration> kinds;
  std::map<std::int32_t, Duration> ranks;
  std::map<std::pair<Kind, std::string_view>, OperationTime> operations;
  LinkTimes links{};
  const Segment* later = nullptr;
  for (const Segment& segment : path.segments) {
    const Duration time = segment.end - segment.begin;
    kinds[segment.kind] += time;
    if (segment.kind == Kind::kCommunication) AddLast(segment.links, time, &links);
    ranks[segment.rank] += time;
    OperationTime& operation = operations[{segment.kind, segment.name}];
    operation.time += time;
    ++operation.times;
    if (later != nullptr && later->rank != segment.rank) ++summary.rank_changes;
    later = &segment;
  }
  for (const auto& [kind, time] : kinds) summary.kinds.push_back({kind, time});
  for (std::uint32_t tier = 0; tier < kLinkTiers; ++tier) {
    if (links[tier].ps > 0) summary.links.push_back({static_cast<LinkTier>(tier), links[tier]});
  }
  for (const auto& [rank, time] : ranks) summary.ranks.push_back({rank, time});
  for (auto& [key, operation] : operations) {
    operation.kind = key.first;
    operation.name = key.second;
    summary.operations.push_back(std::move(operation));
  }
  std::ranges::stable_sort(summary.kinds, std::greater(), &KindTime::time);
  std::ranges::stable_sort(summary.links, std::greater(), &TierTime::time);
  std::ranges::stable_sort(summary.ranks, std::greater(), &RankTime::time);
  std::ranges::stable_sort(summary.operations, std::greater(), &OperationTime::time);
  if (summary.operations.size() > kOperationsMax) summary.operations.resize(kOperationsMax);
  return summary;
}

}  // namespace eidolon::critical_path
