// The value of a line of least squares at a place is a weighted sum of the values that were seen,
// with weights that follow from places alone. So one set of weights serves all counts of a block,
// which WeightsAt uses. An uneven grid ends later than its mean says: BusiestBlocks plays the
// hardware's way of giving each multiprocessor the next block when one has ended, where resident
// blocks share it evenly. Only the last blocks of a large grid are played, since they decide when
// it ends; the work of all others is added as a mean.
#include "services/timing/count/growth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <queue>
#include <set>
#include <utility>

namespace eidolon::timing::count {
namespace {

// Sums of a line of least squares.
struct Line {
  double place = 0, work = 0;  // Means.
  double places = 0;           // Squares of the places, less their mean's.
  double works = 0;
  double both = 0;
  double At(double where) const { return work + both / places * (where - place); }
  double Explained() const { return works > 0 ? both * both / (places * works) : 0; }
};

Line LineOf(std::span<const BlockWork> blocks) {
  Line line;
  const auto count = static_cast<double>(blocks.size());
  for (const BlockWork& block : blocks) {
    line.place += block.place / count;
    line.work += block.work / count;
  }
  for (const BlockWork& block : blocks) {
    const double place = block.place - line.place, work = block.work - line.work;
    line.places += place * place;
    line.works += work * work;
    line.both += place * work;
  }
  return line;
}

// Work that one multiprocessor has taken up, each block's rest.
struct Busy {
  std::vector<double> rests;
  double now = 0;
  // Returns when the next of them ends: all take turns.
  double Next() const { return now + std::ranges::min(rests) * static_cast<double>(rests.size()); }
  // Advances until then.
  void Advance() {
    now = Next();
    const auto least = std::ranges::min_element(rests);
    const double done = *least;
    rests.erase(least);
    for (double& rest : rests) rest -= done;
  }
};

}  // namespace

std::vector<double> WeightsAt(std::span<const BlockWork> blocks, double place) {
  const Line line = LineOf(blocks);
  const auto count = static_cast<double>(blocks.size());
  std::vector<double> weights;
  for (const BlockWork& block : blocks) {
    weights.push_back(1 + count * (place - line.place) * (block.place - line.place) / line.places);
  }
  return weights;
}

std::optional<Growth> GrowthOf(std::span<const BlockWork> blocks, double steps, double period) {
  constexpr std::size_t kLeastPlaces = 4;
  constexpr double kExplained = 0.98;
  constexpr double kMatters = 0.1;
  std::set<double> places;
  for (const BlockWork& block : blocks) places.insert(block.place);
  if (places.size() < kLeastPlaces) return std::nullopt;
  const Line line = LineOf(blocks);
  const double middle = line.At((steps - 1) / 2);
  if (line.Explained() < kExplained || middle <= 0) return std::nullopt;
  const Growth growth{.first = std::max(0.0, line.At(0) / middle),
                      .last = std::max(0.0, line.At(steps - 1) / middle),
                      .steps = steps,
                      .period = period};
  if (std::abs(growth.last - growth.first) < kMatters) return std::nullopt;
  return growth;
}

double BusiestBlocks(const Growth& growth, double blocks, double multiprocessors,
                     double resident_blocks) {
  // The last ones decide; so many before them make no difference.
  constexpr double kMostBlocks = 8192;
  const double some = std::min(blocks, std::max(kMostBlocks, growth.steps));
  // More than any grid has: a damaged record.
  constexpr double kMostSteps = 1e6, kAnyGrid = 1e15;
  if (some > kMostSteps || blocks > kAnyGrid) return std::ceil(blocks / multiprocessors);
  double next = blocks - some;
  double work = 0;
  const auto take = [&](Busy& busy) {
    if (next >= blocks) return;
    const double place = std::fmod(std::floor(next / growth.period), growth.steps);
    const double share = place / std::max(1.0, growth.steps - 1);
    busy.rests.push_back(growth.first + share * (growth.last - growth.first));
    work += busy.rests.back();
    ++next;
  };
  std::vector<Busy> all(static_cast<std::size_t>(multiprocessors));
  for (double i = 0; i < resident_blocks && next < blocks; ++i) {
    for (Busy& busy : all) take(busy);
  }
  using End = std::pair<double, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  const auto await = [&](std::size_t which) {
    if (!all[which].rests.empty()) ends.emplace(all[which].Next(), which);
  };
  for (std::size_t i = 0; i < all.size(); ++i) await(i);
  double last = 0;
  while (!ends.empty()) {
    const auto [end, which] = ends.top();
    ends.pop();
    all[which].Advance();
    take(all[which]);
    await(which);
    last = std::max(last, end);
  }
  return last + (blocks - work) / multiprocessors;
}

}  // namespace eidolon::timing::count
