// A model that is judged by the logs that it was fitted to always looks good. So fitted logs are
// also evaluated with curves that were made without them (FitWithout), and held-out logs are never
// fitted. Errors are relative to the measurement and grouped by size, because small calls measure
// latency and large ones bandwidth. The digest covers every row: it shows a change that the means
// hide.
#include "services/network/validation/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>
#include <tuple>

#include "services/base/text.h"
#include "services/network/collective/cost.h"
#include "services/network/validation/fit.h"

namespace eidolon::network::validation {
namespace {

constexpr const char* kBandNames[kBands] = {"up to 64 KiB", "to 16 MiB", "above 16 MiB"};
constexpr std::array<double, kBands> kTargets = {0.10, 0.15, 0.05};
constexpr std::array<double, kBands> kServerTargets = {0.08, 0.08, 0.08};

template <typename... Values>
std::string Print(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string CellText(const ErrorSum& sum) {
  if (sum.points == 0) return " - ";
  return Print(" %.1f (%+.1f) ", 100 * sum.Mean(), 100 * sum.Bias());
}

std::string Summary(std::string_view title, const std::array<ErrorSum, kBands>& sums,
                    const std::array<double, kBands>& targets = kTargets) {
  std::string text = base::StrCat("| ", title,
                                  " | mean error % | bias % | points | target % | |\n"
                                  "| --- | ---: | ---: | ---: | ---: | --- |\n");
  for (std::size_t band = 0; band < kBands; ++band) {
    const ErrorSum& sum = sums[band];
    if (sum.points == 0) {
      text += base::StrCat("| ", kBandNames[band], " | - | - | 0 | ", 100 * targets[band],
                           " | no such log |\n");
      continue;
    }
    text += Print("| %s | %.1f | %+.1f | %d | %.0f | %s |\n", kBandNames[band], 100 * sum.Mean(),
                  100 * sum.Bias(), sum.points, 100 * targets[band],
                  sum.Mean() <= targets[band] ? "met" : "missed");
  }
  return text + "\n";
}

// The curves of all logs but one.
std::vector<FittedCurve> FitWithout(std::span<const LogSet> sets, const LogSet& left_out) {
  std::vector<LogSet> others;
  for (const LogSet& set : sets) {
    if (&set != &left_out && set.role == Role::kFit) others.push_back(set);
  }
  return FitCurves(others);
}

std::string SetTable(const SetErrors& errors) {
  const LogSet& set = *errors.set;
  const collective::Shape shape = ShapeOf(set);
  std::string text = base::StrCat(
      "\n### ", set.name, "\n\n", Name(set.kind), ", ", set.nodes, " x ", set.members, " ", set.gpu,
      ", ", set.transport, "; ", Name(set.role), ". Source: ", set.source,
      "\n\n| bytes | measured us | busbw | model us | error % | table us | choice |\n"
      "| ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (const Point& point : set.points) {
    const double modelled = ModelledUs(set, shape, point.bytes);
    std::string choice = "p2p";
    if (set.kind != collective::Kind::kPointToPoint) {
      const auto cost = collective::CostOf({.kind = set.kind, .bytes = point.bytes}, shape);
      choice = base::StrCat(Name(cost.algorithm), " ", Name(cost.protocol), " x", cost.channels);
    }
    text +=
        Print("| %llu | %.1f | %.1f | %.1f | %+.1f | %.1f | %s |\n",
              static_cast<unsigned long long>(point.bytes), point.us,
              BusBandwidth(set.kind, shape.ranks, point.bytes, point.us), modelled,
              100 * (modelled / point.us - 1), TabledUs(set, shape, point.bytes), choice.c_str());
  }
  return text;
}

// A table of all logs.
std::string LogTable(std::span<const SetErrors> errors) {
  std::string text =
      "Mean absolute error (and bias) in percent: of the model; of the model fitted without this "
      "log (fitted logs only); of NCCL's own table before the correction.\n\n"
      "| log | kind | nodes x GPUs | GPU, transport | role | to 64 KiB | to 16 MiB | above | "
      "left out: to 64 KiB | to 16 MiB | above | table: to 64 KiB | to 16 MiB | above |\n"
      "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
      "---: |\n";
  for (const SetErrors& each : errors) {
    const LogSet& set = *each.set;
    text +=
        base::StrCat("| ", set.name, " | ", Name(set.kind), " | ", set.nodes, " x ", set.members,
                     " | ", set.gpu, ", ", set.transport, " | ", Name(set.role), " |");
    for (const ErrorSum& sum : each.model) text += base::StrCat(CellText(sum), "|");
    for (const ErrorSum& sum : each.left_out) {
      text += base::StrCat(set.role == Role::kFit ? CellText(sum) : " ", "|");
    }
    for (const ErrorSum& sum : each.table) text += base::StrCat(CellText(sum), "|");
    text += "\n";
  }
  return text;
}

// Errors of the sizes of several logs.
struct Sizes {
  int points = 0;
  double sum = 0;
  double largest = 0;

  void Add(double error) {
    ++points;
    sum += error;
    largest = std::max(largest, error);
  }
  std::string Cells() const {
    if (points == 0) return " | | |";
    return Print(" %d | %.1f | %.1f |", points, 100 * sum / points, 100 * largest);
  }
};

// One row for each collective and number of GPUs.
std::string GroupTable(std::span<const SetErrors> errors) {
  struct Group {
    int logs = 0;
    Sizes fitted, tested, other;
  };
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, Group> groups;
  for (const SetErrors& each : errors) {
    const LogSet& set = *each.set;
    Group& group = groups[{std::string(Name(set.kind)), set.nodes, set.members}];
    ++group.logs;
    Sizes& sizes = set.role == Role::kFit    ? group.fitted
                   : set.role == Role::kTest ? group.tested
                                             : group.other;
    const collective::Shape shape = ShapeOf(set);
    for (const Point& point : set.points) {
      sizes.Add(std::fabs(ModelledUs(set, shape, point.bytes) / point.us - 1));
    }
  }
  std::string text =
      "Absolute error of the model in percent over all sizes of all logs of a collective.\n\n"
      "| collective | servers x GPUs | logs | held out: sizes | mean | max | fitted: sizes | mean "
      "| "
      "max | not counted: sizes | mean | max |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [key, group] : groups) {
    const auto& [kind, nodes, members] = key;
    text += base::StrCat("| ", kind, " | ", nodes, " x ", members, " | ", group.logs, " |",
                         group.tested.Cells(), group.fitted.Cells(), group.other.Cells(), "\n");
  }
  return text;
}

std::array<ErrorSum, kBands> ErrorsWith(const std::vector<FittedCurve>& fitted, const LogSet& set,
                                        const collective::Shape& shape) {
  std::vector<collective::Curve> curves;
  for (const FittedCurve& curve : fitted) {
    curves.push_back({curve.key, curve.first_octave, curve.ratios});
  }
  std::array<ErrorSum, kBands> errors;
  for (const Point& point : set.points) {
    const auto cost = collective::CostOf({.kind = set.kind, .bytes = point.bytes}, shape, curves);
    errors[static_cast<std::size_t>(BandOf(point.bytes))].Add(
        cost.Total().Seconds() * 1e6 / point.us - 1);
  }
  return errors;
}

}  // namespace

int BandOf(std::uint64_t bytes) {
  if (bytes <= 64u << 10) return 0;
  return bytes <= 16u << 20 ? 1 : 2;
}

void ErrorSum::Add(double error) {
  absolute += std::fabs(error);
  plain += error;
  ++points;
}

void ErrorSum::Add(const ErrorSum& other) {
  absolute += other.absolute;
  plain += other.plain;
  points += other.points;
}

std::vector<SetErrors> Evaluate(std::span<const LogSet> sets) {
  std::vector<SetErrors> all;
  for (const LogSet& set : sets) {
    SetErrors errors{.set = &set, .model = {}, .table = {}};
    const collective::Shape shape = ShapeOf(set);
    for (const Point& point : set.points) {
      const auto band = static_cast<std::size_t>(BandOf(point.bytes));
      errors.model[band].Add(ModelledUs(set, shape, point.bytes) / point.us - 1);
      errors.table[band].Add(TabledUs(set, shape, point.bytes) / point.us - 1);
    }
    errors.left_out = errors.model;
    if (set.role == Role::kFit && set.kind != collective::Kind::kPointToPoint) {
      errors.left_out = ErrorsWith(FitWithout(sets, set), set, shape);
    }
    all.push_back(errors);
  }
  return all;
}

std::array<ErrorSum, kBands> HeldOutInfiniband(std::span<const SetErrors> errors) {
  std::array<ErrorSum, kBands> sums;
  for (const SetErrors& each : errors) {
    if (each.set->role != Role::kTest || each.set->transport != "infiniband") continue;
    for (std::size_t band = 0; band < kBands; ++band) sums[band].Add(each.model[band]);
  }
  return sums;
}

std::array<ErrorSum, kBands> HeldOutServers(std::span<const SetErrors> errors) {
  constexpr std::uint32_t kGpusOfAServer = 8;
  std::array<ErrorSum, kBands> sums;
  for (const SetErrors& each : errors) {
    const LogSet& set = *each.set;
    if (set.role != Role::kTest || set.transport != "nvlink" || set.members > kGpusOfAServer) {
      continue;
    }
    for (std::size_t band = 0; band < kBands; ++band) sums[band].Add(each.model[band]);
  }
  return sums;
}

std::array<ErrorSum, kBands> LeftOutInfiniband(std::span<const SetErrors> errors) {
  std::array<ErrorSum, kBands> sums;
  for (const SetErrors& each : errors) {
    if (each.set->role != Role::kFit || each.set->transport != "infiniband" ||
        each.set->kind != collective::Kind::kAllReduce) {
      continue;
    }
    for (std::size_t band = 0; band < kBands; ++band) sums[band].Add(each.left_out[band]);
  }
  return sums;
}

std::string FormatSummary(std::span<const SetErrors> errors) {
  return Summary("InfiniBand, held-out logs", HeldOutInfiniband(errors)) +
         Summary("InfiniBand, fitted all-reduce logs left out in turn", LeftOutInfiniband(errors)) +
         Summary("NVLink inside a server, held-out logs", HeldOutServers(errors), kServerTargets) +
         GroupTable(errors) + "\n" + Print("Digest of all rows: %016llx\n", DigestOfRows(errors));
}

std::string FormatRows(std::span<const SetErrors> errors) {
  std::string text = LogTable(errors);
  for (const SetErrors& each : errors) text += SetTable(each);
  return text;
}

unsigned long long DigestOfRows(std::span<const SetErrors> errors) {
  // FNV-1a.
  unsigned long long digest = 0xcbf29ce484222325;
  for (const char each : FormatRows(errors)) {
    digest = (digest ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  }
  return digest;
}

}  // namespace eidolon::network::validation
