// A folded job assumes that ranks of one class are alike, and only live ranks can disprove it.
// Their kernels' busy time is compared and not the length of their iterations: collectives make
// ranks wait for each other, so the lengths are nearly equal whatever the ranks do. Reports of two
// neighbours come in any order, so the first one of an iteration waits for the other. One
// difference proves nothing, since a rank may do something once; two in a row are taken for a
// property of the rank.
#include "services/controller/job/class_check.h"

#include <algorithm>
#include <map>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::job {

namespace {

using base::StrCat;

constexpr std::uint64_t kParts = 100;  // A difference counts from one of these on.

double Milliseconds(std::uint64_t picoseconds) { return static_cast<double>(picoseconds) / 1e9; }

// Returns what kernels and the collectives behind them do not share with others.
std::uint64_t BusyOf(const RankIteration& iteration) { return iteration.breakdown.compute; }

// A mirrored rank of the class, near the middle; nothing when there is none.
std::optional<std::uint32_t> MirroredBetween(const folding::Fold& fold, std::uint32_t lower,
                                             std::uint32_t upper) {
  const std::uint32_t middle = lower + (upper - lower) / 2;
  const std::uint32_t which = fold.ClassOf(lower);
  for (std::uint32_t step = 0; step <= upper - lower; ++step) {
    for (const std::uint32_t rank : {middle + step, middle - std::min(step, middle)}) {
      if (rank > lower && rank < upper && fold.ClassOf(rank) == which) return rank;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Neighbours> NeighboursOf(const folding::Fold& fold) {
  std::vector<Neighbours> all;
  if (!fold.is_folded()) return all;
  std::map<std::uint32_t, std::uint32_t> last;  // By class.
  for (const std::uint32_t rank : fold.live()) {
    const auto [at, is_first] = last.try_emplace(fold.ClassOf(rank), rank);
    if (is_first) continue;
    if (const auto between = MirroredBetween(fold, at->second, rank)) {
      all.push_back({.lower = at->second, .upper = rank, .between = *between});
    }
    at->second = rank;
  }
  return all;
}

std::vector<std::string> MemoryWarnings(const folding::Fold& fold,
                                        std::span<const RankMemory> memory) {
  std::map<std::int64_t, std::uint64_t> peaks;
  for (const RankMemory& one : memory) {
    peaks[one.rank] = std::max(peaks[one.rank], one.peak_bytes);
  }
  std::vector<std::string> warnings;
  for (const Neighbours& ranks : NeighboursOf(fold)) {
    const auto lower = peaks.find(ranks.lower);
    const auto upper = peaks.find(ranks.upper);
    if (lower == peaks.end() || upper == peaks.end()) continue;
    const auto [least, most] = std::minmax({lower->second, upper->second});
    if (most - least <= most / kParts) continue;
    warnings.push_back(StrCat("ranks ", ranks.lower, " and ", ranks.upper,
                              " are taken to be alike, but have peaks of ", lower->second >> 20,
                              " and ", upper->second >> 20,
                              " MiB of memory: the ranks that are mirrored from them may be like "
                              "either; make one between "
                              "them live to see (--live ",
                              ranks.between, ")"));
  }
  return warnings;
}

ClassTimes::ClassTimes(const folding::Fold& fold) {
  for (const Neighbours& ranks : NeighboursOf(fold)) pairs_.push_back({.ranks = ranks});
}

std::optional<std::string> ClassTimes::Add(const RankIteration& iteration) {
  if (iteration.index == 0) return std::nullopt;
  std::optional<std::string> found;
  for (Pair& pair : pairs_) {
    if (iteration.rank != static_cast<std::int64_t>(pair.ranks.lower) &&
        iteration.rank != static_cast<std::int64_t>(pair.ranks.upper)) {
      continue;
    }
    const auto [at, is_first] = pair.waiting.try_emplace(iteration.index, iteration);
    if (is_first || at->second.rank == iteration.rank) continue;
    const RankIteration other = at->second;
    pair.waiting.erase(at);
    const bool is_lower = iteration.rank == static_cast<std::int64_t>(pair.ranks.lower);
    auto differs = is_lower ? Compare(&pair, iteration, other) : Compare(&pair, other, iteration);
    if (differs && !found) found = std::move(differs);
  }
  return found;
}

std::optional<std::string> ClassTimes::Compare(Pair* pair, const RankIteration& a,
                                               const RankIteration& b) {
  const std::uint64_t length = std::max(a.end_ps - a.start_ps, b.end_ps - b.start_ps);
  const auto [least, most] = std::minmax({BusyOf(a), BusyOf(b)});
  const bool differ = static_cast<double>(most - least) > kPartMax * static_cast<double>(length);
  if (!differ) {
    pair->differed.reset();
    return std::nullopt;
  }
  const bool again = pair->differed == a.index - 1;
  pair->differed = a.index;
  if (!again) return std::nullopt;
  return StrCat("ranks ", pair->ranks.lower, " and ", pair->ranks.upper,
                " are taken to be alike, but their kernels take ", Milliseconds(BusyOf(a)), " and ",
                Milliseconds(BusyOf(b)), " ms of iteration ", a.index, " (", Milliseconds(length),
                " ms), and the iteration before was like it: the ranks that "
                "are mirrored from them may be like either. Make one between them live (--live ",
                pair->ranks.between, "), or run the job with --fold off");
}

}  // namespace eidolon::controller::job
