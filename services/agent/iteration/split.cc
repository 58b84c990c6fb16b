// One sweep over the starts and ends of all intervals gives each moment to exactly one part, so the
// four parts add up to the window without rounding. A moment with compute and communication counts
// as compute: communication is exposed only while nothing else runs. A gap belongs to whatever ends
// it. An operation that began before the window says nothing about the gap in front of it.
#include "services/agent/iteration/split.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "services/base/check.h"

namespace eidolon::agent::iteration {

using base::Duration;
using base::SimTime;

namespace {

constexpr std::size_t kAssumedLimit = 20;

struct Change {
  SimTime at;
  int compute;  // +1 or -1 running.
  int communication;
  bool host_bound;  // Of the operation that starts here.
};

std::vector<Change> ChangesIn(const Window& window, std::span<const Interval> intervals) {
  std::vector<Change> changes;
  changes.reserve(2 * intervals.size());
  for (const Interval& interval : intervals) {
    const SimTime start = std::max(interval.start, window.start);
    const SimTime end = std::min(interval.end, window.end);
    if (start >= end) continue;
    const int compute = interval.activity == Activity::kCompute ? 1 : 0;
    const bool host_bound = interval.host_bound && interval.start >= window.start;
    changes.push_back({start, compute, 1 - compute, host_bound});
    changes.push_back({end, -compute, compute - 1, false});
  }
  // Of several that start together, one that waited for the host blames the host.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    if (a.at != b.at) return a.at < b.at;
    return a.host_bound && !b.host_bound;
  });
  return changes;
}

Breakdown SweepWindow(const Window& window, std::span<const Interval> intervals) {
  const std::vector<Change> changes = ChangesIn(window, intervals);
  Breakdown result;
  SimTime now = window.start;
  int compute = 0;
  int communication = 0;
  for (const Change& change : changes) {
    const Duration span = change.at - now;
    if (compute > 0) {
      result.compute += span;
    } else if (communication > 0) {
      result.exposed_communication += span;
    } else if (change.host_bound) {
      result.host += span;
    } else {
      result.idle += span;
    }
    now = change.at;
    compute += change.compute;
    communication += change.communication;
  }
  (window.ends_by_host ? result.host : result.idle) += window.end - now;
  return result;
}

double ErrorOf(const Breakdown& breakdown, std::span<const Interval> intervals,
               std::span<const Basis> bases) {
  struct Sums {
    double error[2] = {0, 0};  // By activity, picoseconds.
  };
  std::map<std::uint32_t, Sums> families;
  double busy[2] = {0, 0};
  for (const Interval& interval : intervals) {
    const auto length = static_cast<double>((interval.end - interval.start).ps);
    const auto activity = static_cast<std::size_t>(interval.activity);
    const Basis& basis = bases[interval.basis];
    families[basis.family].error[activity] += length * static_cast<double>(basis.relative_error);
    busy[activity] += length;
  }
  const double visible[2] = {static_cast<double>(breakdown.compute.ps),
                             static_cast<double>(breakdown.exposed_communication.ps)};
  double squares = 0;
  for (const auto& [family, sums] : families) {
    double error = 0;
    for (std::size_t a = 0; a < 2; ++a) {
      if (busy[a] > 0) error += sums.error[a] * std::min(1.0, visible[a] / busy[a]);
    }
    squares += error * error;
  }
  return std::sqrt(squares);
}

std::vector<BasisTime> TimesOf(std::span<const Interval> intervals, std::size_t bases) {
  std::vector<BasisTime> times(bases);
  for (const Interval& interval : intervals) {
    BasisTime& sum = times[interval.basis];
    const Duration length = interval.end - interval.start;
    sum.basis = interval.basis;
    sum.shortest = sum.count == 0 ? length : std::min(sum.shortest, length);
    sum.time += length;
    ++sum.count;
  }
  std::erase_if(times, [](const BasisTime& sum) { return sum.count == 0; });
  return times;
}

}  // namespace

std::vector<NamedTime> AssumedOf(std::span<const BasisTime> times, std::span<const Basis> bases) {
  std::map<std::uint32_t, Duration> sums;
  for (const BasisTime& sum : times) {
    const Basis& basis = bases[sum.basis];
    if (basis.source == estimate::Source::kAssumed) sums[basis.name] += sum.time;
  }
  std::vector<NamedTime> assumed;
  for (const auto& [name, time] : sums) assumed.push_back({name, time});
  std::stable_sort(assumed.begin(), assumed.end(),
                   [](const NamedTime& a, const NamedTime& b) { return a.time > b.time; });
  if (assumed.size() > kAssumedLimit) assumed.resize(kAssumedLimit);
  return assumed;
}

Split SplitWindow(const Window& window, std::span<const Interval> intervals,
                  std::span<const Basis> bases) {
  CHECK(window.start <= window.end);
  Split split;
  split.breakdown = SweepWindow(window, intervals);
  split.times = TimesOf(intervals, bases.size());
  for (const BasisTime& sum : split.times) {
    split.busy_by_source[static_cast<std::size_t>(bases[sum.basis].source)] += sum.time;
  }
  split.assumed = AssumedOf(split.times, bases);
  for (const Interval& interval : intervals) {
    split.microjoules += interval.microjoules;
    split.milliwatts = std::max(split.milliwatts, interval.milliwatts);
  }
  split.error.ps = std::llround(ErrorOf(split.breakdown, intervals, bases));
  return split;
}

}  // namespace eidolon::agent::iteration
