#include "services/agent/device/load_history.h"

#include <algorithm>

namespace eidolon::agent::device {

using base::SimTime;
using base::Wide;

namespace {

constexpr int kHistoryBits = 30;
// Some 8.8 s: a window of NVML's sensors, and what another process may be behind this one.
constexpr std::int64_t kHistoryKept = 8192;
// Work that starts later is not kept: the ends of its buckets would lie beyond all time.
constexpr SimTime kLatestStart =
    SimTime{SimTime::Max().ps - (kHistoryKept + 2) * (std::int64_t{1} << kHistoryBits)};
// As the window of PowerClock.
constexpr std::int64_t kClockKept = 40;
constexpr std::int64_t kWholeClock = 1024;

std::int64_t Share(std::int64_t value, std::int64_t part, std::int64_t whole) {
  if (part >= whole) return value;
  return static_cast<std::int64_t>(static_cast<Wide>(value) * static_cast<Wide>(part) /
                                   static_cast<Wide>(whole));
}

LoadHistory::Sum ShareOf(const LoadHistory::Sum& sum, std::int64_t part, std::int64_t whole) {
  const auto microjoules = static_cast<std::int64_t>(sum.microjoules);
  return {.microjoules = static_cast<std::uint64_t>(Share(microjoules, part, whole)),
          .busy_ps = Share(sum.busy_ps, part, whole),
          .memory_ps = Share(sum.memory_ps, part, whole),
          .slowed_ps = Share(sum.slowed_ps, part, whole)};
}

void AddTo(LoadHistory::Sum* sum, const LoadHistory::Sum& more) {
  sum->microjoules += more.microjoules;
  sum->busy_ps += more.busy_ps;
  sum->memory_ps += more.memory_ps;
  sum->slowed_ps += more.slowed_ps;
}

void TakeFrom(LoadHistory::Sum* sum, const LoadHistory::Sum& less) {
  sum->microjoules -= less.microjoules;
  sum->busy_ps -= less.busy_ps;
  sum->memory_ps -= less.memory_ps;
  sum->slowed_ps -= less.slowed_ps;
}

}  // namespace

LoadHistory::Bucket& LoadHistory::At(std::int64_t number, SimTime issued) {
  if (last_ != nullptr && last_number_ == number) return *last_;
  const auto kept = buckets_.lower_bound((issued.ps >> kHistoryBits) - kHistoryKept);
  buckets_.erase(buckets_.begin(), kept);
  last_number_ = number;
  last_ = &buckets_.try_emplace(number).first->second;
  return *last_;
}

void LoadHistory::Add(const Load& load, SimTime issued) {
  const std::int64_t length = (load.end - load.start).ps;
  if (length <= 0 || load.start > kLatestStart) return;
  // Operations of several streams overlap: time counts once, as far as it lies behind the latest.
  const SimTime fresh = std::max(load.start, end_);
  end_ = std::max(end_, load.end);
  const std::int64_t busy = std::max<std::int64_t>(0, (load.end - fresh).ps);
  Sum left{.microjoules = load.microjoules,
           .busy_ps = busy,
           .memory_ps = Share(length, load.memory, kWholeClock),
           .slowed_ps = load.clock < kWholeClock ? busy : 0};
  AddTo(&total_, left);
  std::int64_t number = load.start.ps >> kHistoryBits;
  const std::int64_t last = number + kHistoryKept;
  for (SimTime from = load.start; from < load.end; ++number) {
    // The last bucket of an operation of more than 8.8 s takes the rest of it.
    const SimTime next{(number + 1) << kHistoryBits};
    const SimTime to = number == last ? load.end : std::min(load.end, next);
    const Sum part = ShareOf(left, (to - from).ps, (load.end - from).ps);
    TakeFrom(&left, part);
    Bucket& bucket = At(number, issued);
    AddTo(&bucket.sum, part);
    bucket.begin = bucket.end.ps == 0 ? from : std::min(bucket.begin, from);
    bucket.end = std::max(bucket.end, to);
    bucket.clock = load.clock;
    from = to;
  }
}

LoadHistory::Sum LoadHistory::Find(SimTime time) const {
  Sum sum = total_;
  if (time >= end_) return sum;
  const std::int64_t number = time.ps >> kHistoryBits;
  for (auto later = buckets_.upper_bound(number); later != buckets_.end(); ++later) {
    TakeFrom(&sum, later->second.sum);
  }
  const auto found = buckets_.find(number);
  if (found == buckets_.end()) return sum;
  const Bucket& now = found->second;
  const std::int64_t left = std::max<std::int64_t>(0, (now.end - std::max(time, now.begin)).ps);
  TakeFrom(&sum, ShareOf(now.sum, left, (now.end - now.begin).ps));
  return sum;
}

LoadHistory::Sum LoadHistory::Before(SimTime time) const {
  Sum sum = Find(time);
  if (time < answered_) return sum;
  sum.microjoules = std::max(sum.microjoules, answer_.microjoules);
  sum.busy_ps = std::max(sum.busy_ps, answer_.busy_ps);
  sum.memory_ps = std::max(sum.memory_ps, answer_.memory_ps);
  sum.slowed_ps = std::max(sum.slowed_ps, answer_.slowed_ps);
  answered_ = time;
  answer_ = sum;
  return sum;
}

std::int64_t LoadHistory::ClockAt(SimTime time) const {
  const std::int64_t bucket = time.ps >> kHistoryBits;
  auto after = buckets_.upper_bound(bucket);
  if (after == buckets_.begin()) return kWholeClock;
  --after;
  return bucket - after->first > kClockKept ? kWholeClock : after->second.clock;
}

}  // namespace eidolon::agent::device
