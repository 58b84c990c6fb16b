#include "services/controller/job/unevenness.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace eidolon::controller::job {
namespace {

constexpr std::size_t kIterationsMin = 3;
constexpr double kLeastShare = 0.1;
constexpr double kScoreMax = 3.5;
constexpr double kNormalMad = 0.6745;

constexpr std::array kParts = {
    &IterationParts::compute,        &IterationParts::exposed_communication,
    &IterationParts::idle,           &IterationParts::host,
    &IterationParts::copies_to_host, &IterationParts::copies_to_device};

}  // namespace

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool IsFar(double distance, double mad) { return kNormalMad * distance > kScoreMax * mad; }

std::optional<Unevenness> FindUnevenness(std::span<const IterationParts> iterations) {
  if (iterations.size() < kIterationsMin) return std::nullopt;
  std::vector<double> values;
  for (const IterationParts& iteration : iterations) values.push_back(iteration.length);
  const double median = MedianOf(values);
  for (double& value : values) value = std::abs(value - median);
  const double mad = MedianOf(values);

  Unevenness found;
  IterationParts even;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const IterationParts& iteration = iterations[i];
    if (values[i] > kLeastShare * median && IsFar(values[i], mad)) {
      found.odd.push_back({.position = i, .seconds = iteration.length, .more = iteration});
      continue;
    }
    even.length += iteration.length;
    for (const auto part : kParts) even.*part += iteration.*part;
  }
  if (found.odd.empty()) return std::nullopt;
  // At least half of them are no further from the median than MAD.
  const auto count = static_cast<double>(iterations.size() - found.odd.size());
  found.even_mean = even.length / count;
  double all = even.length;
  for (const OddIteration& odd : found.odd) all += odd.seconds;
  const double mean = all / static_cast<double>(iterations.size());
  if (std::abs(mean - found.even_mean) <= kLeastShare * found.even_mean) return std::nullopt;
  for (OddIteration& odd : found.odd) {
    odd.more.length -= median;
    for (const auto part : kParts) odd.more.*part -= even.*part / count;
  }
  return found;
}

}  // namespace eidolon::controller::job
