#include "services/agent/iteration/ledger.h"

#include <algorithm>
#include <vector>

#include "services/base/check.h"

namespace eidolon::agent::iteration {

using base::SimTime;

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
  if (entries_.size() > kKeptOperations && boundaries_.empty()) DropOldest();
}

void Ledger::DropOldest() {
  const std::size_t count = kKeptOperations / 4;
  for (std::size_t i = 0; i < count; ++i) {
    if (entries_[i].resolved) latest_ = std::max(latest_, entries_[i].interval.end);
  }
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(count));
  first_ += count;
  prefix_ = std::max(prefix_, first_);
  dropped_ = true;
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

std::optional<Report> Ledger::Take(std::span<const Basis> bases) {
  while (!boundaries_.empty()) {
    const Mark mark = boundaries_.front();
    if (prefix_ < mark.sequence && mark.sequence > first_) return std::nullopt;
    boundaries_.pop_front();
    const std::uint64_t count = mark.sequence > first_ ? mark.sequence - first_ : 0;
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Interval> intervals;
    intervals.reserve(count);
    SimTime work_end = latest_;
    for (auto entry = entries_.begin(); entry != end; ++entry) {
      intervals.push_back(entry->interval);
      work_end = std::max(work_end, entry->interval.end);
    }
    entries_.erase(entries_.begin(), end);
    first_ += count;
    const Window window{.start = latest_,
                        .end = std::max(work_end, mark.host_clock),
                        .ends_by_host = mark.host_clock > work_end};
    latest_ = window.end;
    if (begins_late_) {
      begins_late_ = false;
      dropped_ = false;
      continue;
    }
    const std::uint32_t index = next_index_++;
    if (dropped_) {
      dropped_ = false;
      continue;
    }
    return Report{.index = index,
                  .start = window.start,
                  .end = window.end,
                  .split = SplitWindow(window, intervals, bases)};
  }
  return std::nullopt;
}

}  // namespace eidolon::agent::iteration
