#include "services/network/collective/correction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

namespace eidolon::network::collective {
namespace {

// The array that the curves point into, and the curves.
#include "services/network/collective/correction_table.inc"

double RatioAt(const Curve& curve, double octave) {
  const double first = curve.first_octave;
  const double last = first + static_cast<double>(curve.ratios.size()) - 1;
  if (octave <= first) return 1 + (curve.ratios.front() - 1) * std::exp2((octave - first) / 3);
  if (octave >= last) return curve.ratios.back();
  const auto at = static_cast<std::size_t>(octave - first);
  const double part = octave - first - static_cast<double>(at);
  return curve.ratios[at] * (1 - part) + curve.ratios[at + 1] * part;
}

bool Speaks(const CurveKey& curve, const CurveKey& key) {
  return curve.algorithm == key.algorithm && (curve.nodes == 1) == (key.nodes == 1) &&
         curve.transport == key.transport;
}

// Distance of a curve's system from the call's, the most important parts first. Nearest wins.
using Distance = std::tuple<bool, int, bool, double, std::uint32_t>;

Distance DistanceOf(const CurveKey& curve, const CurveKey& key) {
  const int generations =
      std::abs(static_cast<int>(curve.generation) - static_cast<int>(key.generation));
  const double members =
      std::fabs(std::log2(static_cast<double>(curve.members) / std::max(1u, key.members)));
  return {curve.all_reduce != key.all_reduce, generations, curve.switched != key.switched, members,
          std::numeric_limits<std::uint32_t>::max() - curve.members};
}

}  // namespace

std::span<const Curve> Curves() { return kCurves; }

CurveKey KeyOf(Kind kind, const Shape& shape, Algorithm algorithm) {
  const Transport inside = shape.nvlink ? Transport::kInfiniband : Transport::kPcie;
  return {.transport = shape.nodes > 1 ? shape.transport : inside,
          .generation = shape.generation,
          .switched = shape.switched,
          .algorithm = algorithm,
          .all_reduce = kind == Kind::kAllReduce,
          .nodes = shape.nodes,
          .members = shape.local_max};
}

double Correction(std::span<const Curve> curves, const CurveKey& key, std::uint64_t bytes) {
  std::vector<const Curve*> nearest;
  Distance least{};
  for (const Curve& curve : curves) {
    if (!Speaks(curve.key, key)) continue;
    const Distance distance = DistanceOf(curve.key, key);
    if (nearest.empty() || distance < least) {
      nearest.assign(1, &curve);
      least = distance;
    } else if (distance == least) {
      nearest.push_back(&curve);
    }
  }
  if (nearest.empty()) return 1;
  // Curves of one class differ only in the number of servers, in which they are ordered.
  const double octave = std::log2(static_cast<double>(std::max<std::uint64_t>(bytes, 1)));
  const double place = std::log2(static_cast<double>(key.nodes));
  const Curve* below = nearest.front();
  for (const Curve* curve : nearest) {
    const double at = std::log2(static_cast<double>(curve->key.nodes));
    if (at < place) {
      below = curve;
      continue;
    }
    const double from = std::log2(static_cast<double>(below->key.nodes));
    if (curve == below || at <= from) return RatioAt(*curve, octave);
    const double part = (place - from) / (at - from);
    return RatioAt(*below, octave) * (1 - part) + RatioAt(*curve, octave) * part;
  }
  return RatioAt(*nearest.back(), octave);
}

}  // namespace eidolon::network::collective
