// Sizes and times span many powers of ten, so errors are relative and the mean is taken of
// logarithms: a ratio of two and one of a half then balance. Gaps between measured octaves are
// filled before smoothing, because the curve is looked up by octave. Ratios are rounded before they
// leave: the model computes with the values that stand in the generated file.
#include "services/network/validation/fit.h"

#include <cmath>
#include <cstdio>

#include "services/base/text.h"
#include "services/network/collective/cost.h"

namespace eidolon::network::validation {
namespace {

using collective::Algorithm;
using collective::CurveKey;
using collective::Transport;
using topology::Generation;

struct Bin {
  double logarithms = 0;
  double points = 0;
  double Mean() const { return logarithms / points; }
};

struct Evidence {
  std::map<int, Bin> octaves;
  std::vector<std::string> log_sets;
};

// Logarithms of the ratios by octave, without gaps.
std::vector<double> Fill(const std::map<int, Bin>& octaves) {
  std::vector<double> filled;
  const int first = octaves.begin()->first;
  for (const auto& [octave, bin] : octaves) {
    const int missing = octave - first - static_cast<int>(filled.size());
    const double before = filled.empty() ? 0 : filled.back();
    for (int at = 1; at <= missing; ++at) {
      filled.push_back(before + (bin.Mean() - before) * at / (missing + 1));
    }
    filled.push_back(bin.Mean());
  }
  return filled;
}

std::vector<float> Smooth(const std::vector<double>& values) {
  std::vector<float> smooth;
  for (std::size_t at = 0; at < values.size(); ++at) {
    double sum = 2 * values[at];
    double weight = 2;
    if (at > 0) {
      sum += values[at - 1];
      weight += 1;
    }
    if (at + 1 < values.size()) {
      sum += values[at + 1];
      weight += 1;
    }
    smooth.push_back(static_cast<float>(std::round(std::exp(sum / weight) * 1000) / 1000));
  }
  return smooth;
}

std::string_view EnumeratorOf(Generation generation) {
  switch (generation) {
    case Generation::kVolta:
      return "kVolta";
    case Generation::kAmpere:
      return "kAmpere";
    case Generation::kHopper:
      return "kHopper";
    case Generation::kBlackwell:
      return "kBlackwell";
  }
  return "kHopper";
}

std::string_view EnumeratorOf(Transport transport) {
  switch (transport) {
    case Transport::kInfiniband:
      return "kInfiniband";
    case Transport::kSlingshot:
      return "kSlingshot";
    case Transport::kPcie:
      return "kPcie";
  }
  return "kInfiniband";
}

std::string_view EnumeratorOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "kRing";
    case Algorithm::kTree:
      return "kTree";
    case Algorithm::kNvls:
      return "kNvls";
    case Algorithm::kNvlsTree:
      return "kNvlsTree";
    case Algorithm::kPat:
      return "kPat";
    case Algorithm::kCollNetDirect:
      return "kCollNetDirect";
    case Algorithm::kCollNetChain:
      return "kCollNetChain";
    case Algorithm::kPointToPoint:
      return "kPointToPoint";
    case Algorithm::kCopy:
      return "kCopy";
  }
  return "kCopy";
}

}  // namespace

std::vector<FittedCurve> FitCurves(std::span<const LogSet> sets) {
  std::map<CurveKey, Evidence> evidence;
  for (const LogSet& set : sets) {
    if (set.role != Role::kFit || set.kind == collective::Kind::kPointToPoint) continue;
    const collective::Shape shape = ShapeOf(set);
    for (const Point& point : set.points) {
      const auto tabled = collective::TabledCostOf({.kind = set.kind, .bytes = point.bytes}, shape);
      Evidence& found = evidence[collective::KeyOf(set.kind, shape, tabled.algorithm)];
      const int octave = static_cast<int>(std::lround(std::log2(point.bytes)));
      Bin& bin = found.octaves[octave];
      bin.logarithms += std::log(point.us / (tabled.Total().Seconds() * 1e6));
      bin.points += 1;
      if (found.log_sets.empty() || found.log_sets.back() != set.name) {
        found.log_sets.push_back(set.name);
      }
    }
  }
  std::vector<FittedCurve> curves;
  for (const auto& [key, found] : evidence) {
    curves.push_back({.key = key,
                      .first_octave = static_cast<std::uint32_t>(found.octaves.begin()->first),
                      .ratios = Smooth(Fill(found.octaves)),
                      .log_sets = found.log_sets});
  }
  return curves;
}

std::string FormatTable(std::span<const FittedCurve> curves) {
  std::string ratios;
  std::string rows;
  std::size_t offset = 0;
  for (const FittedCurve& curve : curves) {
    ratios += base::StrCat("    // ", base::Join(curve.log_sets, ", "), "\n    ");
    for (float ratio : curve.ratios) {
      char text[32];
      std::snprintf(text, sizeof text, "%.3ff, ", static_cast<double>(ratio));
      ratios += text;
    }
    ratios.back() = '\n';
    const CurveKey& key = curve.key;
    rows += base::StrCat(
        "    {{Transport::", EnumeratorOf(key.transport),
        ", topology::Generation::", EnumeratorOf(key.generation), ", ",
        key.switched ? "true" : "false", ", Algorithm::", EnumeratorOf(key.algorithm), ", ",
        key.all_reduce ? "true" : "false", ", ", key.nodes, ", ", key.members, "}, ",
        curve.first_octave, ", {kRatios + ", offset, ", ", curve.ratios.size(), "}},\n");
    offset += curve.ratios.size();
  }
  return base::StrCat(
      "// Generated by `eidolon net validate --fit` from "
      "services/network/validation/nccl_logs.csv; ",
      "do not edit.\n// Measured over tabled time, an octave of size each, by log set.\n",
      "constexpr float kRatios[] = {\n", ratios, "};\n\nconstexpr Curve kCurves[] = {\n", rows,
      "};\n");
}

}  // namespace eidolon::network::validation
