// Operations are resolved in any order, while iterations are cut in program order. So entries lie
// by sequence number, and `prefix_` is the first one that is still open: an iteration is complete
// when the prefix has passed its boundary. Each window begins where the one before ended, hence
// windows neither overlap nor leave time out, and their parts add up to the program. Sums by basis
// stand for what was cut, which keeps memory bounded by the open iteration.
#include "services/agent/iteration/ledger.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/base/check.h"

namespace eidolon::agent::iteration {

using base::Duration;
using base::SimTime;

namespace {

Duration WorkedUntil(const Mark& mark) {
  return std::max(Duration{}, mark.host_clock - SimTime{} - mark.waited);
}

}  // namespace

void Ledger::Add(std::uint64_t sequence, const Interval& interval) {
  if (sequence < first_) {
    // Its iteration was given up; its end still bounds the next one.
    latest_ = std::max(latest_, interval.end);
    return;
  }
  const std::uint64_t offset = sequence - first_;
  if (offset >= entries_.size()) entries_.resize(offset + 1);
  CHECK(!entries_[offset].resolved);
  entries_[offset] = {.interval = interval, .resolved = true};
  prefix_ = std::max(prefix_, first_);
  while (prefix_ - first_ < entries_.size() && entries_[prefix_ - first_].resolved) ++prefix_;
}

void Ledger::AddBoundary(const Mark& mark) {
  CHECK(boundaries_.empty() || boundaries_.back().sequence <= mark.sequence);
  boundaries_.push_back(mark);
  ++ended_;
}

void Ledger::BeginAt(const Mark& mark) {
  CHECK(boundaries_.empty() && ended_ == 0);
  boundaries_.push_back(mark);
  begins_late_ = true;
}

Report Ledger::Cut(const Mark& mark, std::span<const Basis> bases) {
  const std::uint64_t count =
      mark.sequence > first_ ? std::min(mark.sequence - first_, entries_.size()) : 0;
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Interval> intervals;
  intervals.reserve(count);
  SimTime work_end = latest_;
  for (auto entry = entries_.begin(); entry != end; ++entry) {
    if (!entry->resolved) continue;
    intervals.push_back(entry->interval);
    work_end = std::max(work_end, entry->interval.end);
  }
  entries_.erase(entries_.begin(), end);
  first_ += count;
  prefix_ = std::max(prefix_, first_);
  const Window window{.start = latest_,
                      .end = std::max(work_end, mark.host_clock),
                      .ends_by_host = mark.host_clock > work_end};
  latest_ = window.end;
  Report report{.sequence_begin = first_ - count,
                .sequence_end = first_,
                .start = window.start,
                .end = window.end,
                .split = SplitWindow(window, intervals, bases)};
  program_.breakdown += report.split.breakdown;
  program_.error += report.split.error;
  program_.microjoules += report.split.microjoules;
  program_.milliwatts = std::max(program_.milliwatts, report.split.milliwatts);
  for (std::size_t source = 0; source < estimate::kSources; ++source) {
    program_.busy_by_source[source] += report.split.busy_by_source[source];
  }
  for (const BasisTime& time : report.split.times) {
    const auto [sum, is_new] = times_.emplace(time.basis, time);
    if (is_new) continue;
    sum->second.time += time.time;
    sum->second.shortest = std::min(sum->second.shortest, time.shortest);
    sum->second.count += time.count;
  }
  return report;
}

// While no boundary is known, the oldest quarter is cut as soon as too many entries are kept. The
// iteration that they belong to is counted and not reported.
std::optional<Report> Ledger::Take(std::span<const Basis> bases) {
  if (entries_.size() > kKeptOperations && boundaries_.empty()) {
    Cut({.sequence = first_ + entries_.size() / 4}, bases);
    dropped_ = true;
  }
  while (!boundaries_.empty()) {
    const Mark mark = boundaries_.front();
    if (prefix_ < mark.sequence && mark.sequence > first_) return std::nullopt;
    boundaries_.pop_front();
    Report report = Cut(mark, bases);
    const Duration worked = WorkedUntil(mark);
    report.host_work = std::max(Duration{}, worked - std::exchange(worked_, worked));
    const bool was_dropped = std::exchange(dropped_, false);
    if (begins_late_) {
      begins_late_ = false;
      continue;
    }
    report.index = next_index_++;
    if (!was_dropped) return report;
  }
  return std::nullopt;
}

Program Ledger::Close(const Mark& mark, std::span<const Basis> bases) {
  boundaries_.clear();
  Cut(mark, bases);
  for (const auto& [basis, time] : times_) program_.times.push_back(time);
  program_.assumed = AssumedOf(program_.times, bases);
  return {.end = latest_, .host_work = WorkedUntil(mark), .split = program_};
}

}  // namespace eidolon::agent::iteration
