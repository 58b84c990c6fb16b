// Shares must add up, so every time is an integer and each segment goes into exactly one sum of
// each list; lists are cut after sorting, and the totals are taken before. Keys are views of names
// in the traces, which outlive the summary's making. Links have names by rank: the same number
// means another link in another rank's trace, so sums are kept by name.
#include "services/contract/critical_path/summary.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/check.h"

namespace eidolon::critical_path {

using base::Duration;

std::string_view Name(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames = {
      "kernels", "copies", "communication", "launches", "delays", "host", "sleeps", "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

// Sums the time of communication on the path, by tier and by link.
class LinkSums {
 public:
  explicit LinkSums(std::span<const RankTrace> traces) {
    for (const RankTrace& trace : traces) names_.try_emplace(trace.rank, &trace.names);
  }

  void Add(const Segment& segment) {
    if (names_of_rank_ == nullptr || segment.rank != rank_) {
      rank_ = segment.rank;
      names_of_rank_ = names_.at(segment.rank);
    }
    TellLast(segment.links, segment.end - segment.begin, [this](const LinkTime& link) {
      tiers_[static_cast<std::size_t>(link.tier)] += link.time;
      if (link.link == 0 || link.time.ps == 0) return;
      links_[{(*names_of_rank_)[link.link - 1], link.tier}] += link.time;
    });
  }

  void Fill(Summary* summary) const {
    for (std::uint32_t tier = 0; tier < kLinkTiers; ++tier) {
      if (tiers_[tier].ps > 0)
        summary->links.push_back({static_cast<LinkTier>(tier), tiers_[tier]});
    }
    for (const auto& [link, time] : links_) {
      summary->named_links.push_back({std::string(link.first), link.second, time});
    }
    std::ranges::stable_sort(summary->links, std::greater(), &TierTime::time);
    std::ranges::stable_sort(summary->named_links, std::greater(), &NamedLinkTime::time);
    if (summary->named_links.size() > kNamedLinksMax) summary->named_links.resize(kNamedLinksMax);
  }

 private:
  std::map<std::int32_t, const std::vector<std::string>*> names_;
  std::int32_t rank_ = -1;  // Of the segment before.
  const std::vector<std::string>* names_of_rank_ = nullptr;
  LinkTimes tiers_{};
  std::map<std::pair<std::string_view, LinkTier>, Duration> links_;
};

}  // namespace

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
  LinkSums links(traces);
  const Segment* later = nullptr;
  for (const Segment& segment : path.segments) {
    const Duration time = segment.end - segment.begin;
    kinds[segment.kind] += time;
    if (segment.kind == Kind::kCommunication) links.Add(segment);
    ranks[segment.rank] += time;
    OperationTime& operation = operations[{segment.kind, segment.name}];
    operation.time += time;
    ++operation.times;
    if (later != nullptr && later->rank != segment.rank) ++summary.rank_changes;
    later = &segment;
  }
  for (const auto& [kind, time] : kinds) summary.kinds.push_back({kind, time});
  links.Fill(&summary);
  for (const auto& [rank, time] : ranks) summary.ranks.push_back({rank, time});
  for (auto& [key, operation] : operations) {
    operation.kind = key.first;
    operation.name = key.second;
    summary.operations.push_back(std::move(operation));
  }
  std::ranges::stable_sort(summary.kinds, std::greater(), &KindTime::time);
  std::ranges::stable_sort(summary.ranks, std::greater(), &RankTime::time);
  std::ranges::stable_sort(summary.operations, std::greater(), &OperationTime::time);
  if (summary.operations.size() > kOperationsMax) summary.operations.resize(kOperationsMax);
  return summary;
}

}  // namespace eidolon::critical_path
