// Rules about what ranks do together: communication, pipelines, and ranks that are slower.
#include <algorithm>
#include <map>

#include "services/base/text.h"
#include "services/controller/diagnosis/rules.h"

namespace eidolon::controller::diagnosis {
namespace {

using base::StrCat;

// Families of collectives by the algorithm that NCCL takes: "nccl ring simple".
constexpr std::string_view kCollective = "nccl ";
constexpr std::string_view kPointToPoint = "nccl p2p";

// Seconds of a rank, a mean. An operation begins when its rank is ready for it.
struct SendsAndReceives {
  double all = 0;
  double transfers = 0;  // If each took as long as the shortest of its kind.
};

SendsAndReceives SendsOf(const Facts& facts, const job::Prediction& prediction) {
  SendsAndReceives sums;
  for (const job::KernelTime& kernel : prediction.kernels) {
    if (!kernel.family.starts_with(kPointToPoint)) continue;
    const double busy = BusySeconds(kernel, facts);
    const double all = static_cast<double>(kernel.picoseconds);
    const double shortest =
        static_cast<double>(kernel.shortest_picoseconds) * static_cast<double>(kernel.launches);
    sums.all += busy;
    sums.transfers += all > 0 ? busy * shortest / all : 0;
  }
  return sums;
}

double BubbleOf(const Facts& facts, const job::Prediction& prediction) {
  const SendsAndReceives sends = SendsOf(facts, prediction);
  // Exchanges between equals, such as those of experts, transfer most of the time.
  if (sends.transfers > sends.all / 2) return 0;
  return std::min(facts.exposed_communication - facts.waits_for_ranks, sends.all);
}

// The algorithm that takes most time, "nccl ring simple".
std::string LongestCollective(const job::Prediction& prediction) {
  std::map<std::string, std::uint64_t> sums;
  for (const job::KernelTime& kernel : prediction.kernels) {
    if (kernel.family.starts_with(kCollective)) sums[kernel.family] += kernel.picoseconds;
  }
  const auto most = std::ranges::max_element(sums, {}, [](const auto& sum) { return sum.second; });
  return most == sums.end() ? "" : most->first;
}

}  // namespace

std::optional<job::Finding> CommunicationBound(const Facts& facts,
                                               const job::Prediction& prediction) {
  const double cost =
      facts.exposed_communication - facts.waits_for_ranks - BubbleOf(facts, prediction);
  if (!Matters(cost, facts)) return std::nullopt;
  const std::string longest = LongestCollective(prediction);
  return FindingOf(
      {.rule = "communication",
       .cause = StrCat("Limited by communication: nothing hides ", Brief(cost), " of ",
                       Brief(facts.seconds), longest.empty() ? "" : ", most of it " + longest),
       .suggestion = "Overlap with computation or a faster network",
       .cost = cost,
       .least = facts.seconds - cost,
       .evidence = {{"exposedCommunicationSeconds", facts.exposed_communication}}},
      facts);
}

std::optional<job::Finding> PipelineBubbles(const Facts& facts, const job::Prediction& prediction) {
  const double cost = BubbleOf(facts, prediction);
  if (!Matters(cost, facts)) return std::nullopt;
  const SendsAndReceives sends = SendsOf(facts, prediction);
  return FindingOf(
      {.rule = "pipeline",
       .cause = StrCat("Limited by pipeline bubbles: stages wait ", Brief(cost), " of ",
                       Brief(facts.seconds), " in sends and receives"),
       .suggestion = "More micro-batches or interleaved stages",
       .cost = cost,
       .least = facts.seconds - cost,
       .evidence = {{"sendReceiveSeconds", sends.all}, {"transferSeconds", sends.transfers}}},
      facts);
}

// With work shared out evenly the slowest rank would do what a rank does on average.
std::optional<job::Finding> Stragglers(const Facts& facts, const job::Prediction& prediction) {
  if (!prediction.balance || prediction.balance->ranks < 2) return std::nullopt;
  const job::RankBalance& balance = *prediction.balance;
  const double cost = facts.waits_for_ranks;
  if (!Matters(cost, facts)) return std::nullopt;
  return FindingOf({.rule = "stragglers",
                    .cause = StrCat("Limited by rank ", balance.slowest, ": it works for ",
                                    Brief(balance.slowest_seconds), ", the mean of all ranks is ",
                                    Brief(balance.mean_seconds)),
                    .suggestion = "Equal work for all ranks",
                    .cost = cost,
                    .least = facts.seconds - cost,
                    .evidence = {{"slowestRank", balance.slowest},
                                 {"slowestRankSeconds", balance.slowest_seconds},
                                 {"meanRankSeconds", balance.mean_seconds}}},
                   facts);
}

}  // namespace eidolon::controller::diagnosis
