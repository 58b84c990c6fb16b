// Extra work is rare and large, which spoils a mean and a standard deviation; median and MAD
// (median absolute deviation) hardly move. With fewer than three iterations no majority shows what
// repeats, so all count as repeating. The largest kind is only looked for where the median stands
// for none. The kind of extra work is derived from differences to the median of each part, over
// repeating iterations alone. A checkpoint is recognized by the time of additional copies to the
// host; saving a rank's parameters takes at least their size over the rate of PCIe, as no copy is
// faster.
#include "services/controller/job/steady.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace eidolon::controller::job {
namespace {

constexpr std::size_t kShownBy = 3;   // Iterations that can show which of them repeat.
constexpr double kExtraShare = 0.05;  // Of the median, and of extra work that gives it its name.
// PCIe 5.0 x16: 32 GT/s x 16 lanes x 128/130.
constexpr double kPcieBytesPerSecond = 63e9;

// Returns the field of the iterations at some positions.
template <typename Field>
double MedianAt(std::span<const IterationWork> iterations, const std::vector<std::size_t>& at,
                const Field& field) {
  std::vector<double> values;
  for (const std::size_t i : at) values.push_back(static_cast<double>(field(iterations[i])));
  return MedianOf(std::move(values));
}

// An iteration as the repeating ones are.
struct Usual {
  IterationParts parts;
  double matrix_flops = 0;
  double updated_bytes = 0;
  double copied_to_host = 0;
};

Usual UsualOf(std::span<const IterationWork> iterations, const std::vector<std::size_t>& at) {
  const auto part = [&](double IterationParts::*field) {
    return MedianAt(iterations, at, [&](const IterationWork& one) { return one.parts.*field; });
  };
  const auto of = [&](auto field) {
    return MedianAt(iterations, at, [&](const IterationWork& one) { return one.*field; });
  };
  return {.parts = {.length = part(&IterationParts::length),
                    .compute = part(&IterationParts::compute),
                    .exposed_communication = part(&IterationParts::exposed_communication),
                    .idle = part(&IterationParts::idle),
                    .host = part(&IterationParts::host)},
          .matrix_flops = of(&IterationWork::matrix_flops),
          .updated_bytes = of(&IterationWork::updated_bytes),
          .copied_to_host = of(&IterationWork::copied_to_host)};
}

std::string KindOfWork(const IterationWork& work, const Usual& usual) {
  const double excess = work.parts.length - usual.parts.length;
  const auto flops = static_cast<double>(work.matrix_flops);
  const bool evaluates = flops > (1 + kExtraShare) * usual.matrix_flops &&
                         static_cast<double>(work.updated_bytes) <= usual.updated_bytes;
  const double copied = work.copied_to_host - usual.copied_to_host;
  const double least_copy = static_cast<double>(work.rank_bytes) / kPcieBytesPerSecond;
  const bool saves = copied > kExtraShare * excess || (work.rank_bytes > 0 && copied >= least_copy);
  if (evaluates) return saves ? "evaluation and checkpoint" : "evaluation";
  if (saves) return "checkpoint";
  constexpr std::array<std::pair<double IterationParts::*, const char*>, 4> kNames = {
      {{&IterationParts::compute, "other work of the GPU"},
       {&IterationParts::exposed_communication, "other communication"},
       {&IterationParts::host, "other work of the host"},
       {&IterationParts::idle, "other waiting"}}};
  const auto more = [&](const auto& name) {
    return work.parts.*name.first - usual.parts.*name.first;
  };
  return std::ranges::max_element(kNames, {}, more)->second;
}

// 0 when they do not all have the same distance.
std::uint32_t DistanceOf(const std::vector<std::size_t>& positions) {
  if (positions.size() < 2) return 0;
  const std::size_t distance = positions[1] - positions[0];
  for (std::size_t i = 2; i < positions.size(); ++i) {
    if (positions[i] - positions[i - 1] != distance) return 0;
  }
  return static_cast<std::uint32_t>(distance);
}

// Positions of the iterations within a twentieth of a time, in order.
std::vector<std::size_t> PositionsNear(const std::vector<double>& lengths, double time) {
  std::vector<std::size_t> near;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (std::abs(lengths[i] - time) <= kExtraShare * time) near.push_back(i);
  }
  return near;
}

// Returns the most iterations that are near one of them; of several as many, the shortest.
std::vector<std::size_t> LargestKind(const std::vector<double>& lengths) {
  std::vector<double> sorted = lengths;
  std::ranges::sort(sorted);
  double middle = 0;
  std::ptrdiff_t largest = 0;
  for (const double length : sorted) {
    const auto begin = std::ranges::lower_bound(sorted, (1 - kExtraShare) * length);
    const auto end = std::ranges::upper_bound(sorted, (1 + kExtraShare) * length);
    if (end - begin <= largest) continue;
    largest = end - begin;
    middle = length;
  }
  return PositionsNear(lengths, middle);
}

bool IsHalf(const std::vector<std::size_t>& positions, const std::vector<double>& lengths) {
  return 2 * positions.size() >= lengths.size();
}

}  // namespace

Steady FindSteady(std::span<const IterationWork> iterations) {
  std::vector<double> lengths;
  for (const IterationWork& iteration : iterations) lengths.push_back(iteration.parts.length);
  const double median = MedianOf(lengths);
  std::vector<double> distances;
  for (const double length : lengths) distances.push_back(std::abs(length - median));
  const double mad = MedianOf(distances);
  const bool is_shown = iterations.size() >= kShownBy;
  Steady steady;
  std::vector<std::size_t> longer;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double excess = lengths[i] - median;
    const bool is_longer = is_shown && excess > kExtraShare * median && IsFar(excess, mad);
    (is_longer ? longer : steady.repeating).push_back(i);
  }
  Usual usual = UsualOf(iterations, steady.repeating);
  if (is_shown && !IsHalf(PositionsNear(lengths, usual.parts.length), lengths)) {
    if (std::vector<std::size_t> kind = LargestKind(lengths); IsHalf(kind, lengths)) {
      steady.repeating = std::move(kind);
      usual = UsualOf(iterations, steady.repeating);
    }
  }
  steady.seconds = usual.parts.length;
  steady.alike = PositionsNear(lengths, steady.seconds).size();
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const std::size_t i : longer) by_name[KindOfWork(iterations[i], usual)].push_back(i);
  for (const auto& [name, positions] : by_name) {
    double sum = 0;
    for (const std::size_t i : positions) sum += lengths[i] - steady.seconds;
    ExtraWork extra{.what = name,
                    .times = static_cast<std::uint32_t>(positions.size()),
                    .every = DistanceOf(positions),
                    .seconds = sum / static_cast<double>(positions.size())};
    extra.per_iteration = extra.every > 0 ? extra.seconds / extra.every
                                          : sum / static_cast<double>(iterations.size());
    steady.extra.push_back(std::move(extra));
  }
  std::ranges::stable_sort(steady.extra, std::greater(), &ExtraWork::per_iteration);
  return steady;
}

}  // namespace eidolon::controller::job
