#include "services/controller/kube/work_queue.h"

#include <algorithm>
#include <chrono>

namespace eidolon::controller::kube {
namespace {

constexpr std::int64_t kFirstNs = 5'000'000;
constexpr std::int64_t kLastNs = 60'000'000'000;
constexpr int kDoublingsMax = 14;
constexpr std::chrono::milliseconds kLook(100);

}  // namespace

void WorkQueue::AddAfter(const std::string& key, std::int64_t delay_ns) {
  const std::lock_guard lock(mutex_);
  const std::int64_t at = clock_.MonotonicNs() + delay_ns;
  const auto [entry, added] = waiting_.emplace(key, at);
  if (!added) entry->second = std::min(entry->second, at);
  due_.notify_one();
}

std::optional<std::string> WorkQueue::TakeDue() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = clock_.MonotonicNs();
  auto best = waiting_.end();
  for (auto entry = waiting_.begin(); entry != waiting_.end(); ++entry) {
    if (entry->second > now_ns || taken_.contains(entry->first)) continue;
    if (best == waiting_.end() || entry->second < best->second) best = entry;
  }
  if (best == waiting_.end()) return std::nullopt;
  std::string key = best->first;
  waiting_.erase(best);
  taken_.insert(key);
  return key;
}

std::optional<std::string> WorkQueue::Take() {
  while (true) {
    if (auto key = TakeDue()) return key;
    std::unique_lock lock(mutex_);
    if (stopping_) return std::nullopt;
    due_.wait_for(lock, kLook);
    if (stopping_) return std::nullopt;
  }
}

void WorkQueue::Release(const std::string& key) {
  taken_.erase(key);
  due_.notify_one();
}

void WorkQueue::Done(const std::string& key) {
  const std::lock_guard lock(mutex_);
  failures_.erase(key);
  Release(key);
}

void WorkQueue::Failed(const std::string& key) {
  std::int64_t delay_ns = kLastNs;
  {
    const std::lock_guard lock(mutex_);
    const int failures = std::min(failures_[key]++, kDoublingsMax);
    delay_ns = std::min(kFirstNs << failures, kLastNs);
    delay_ns += static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(delay_ns / 4)));
    Release(key);
  }
  AddAfter(key, delay_ns);
}

void WorkQueue::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  due_.notify_all();
}

std::size_t WorkQueue::size() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace eidolon::controller::kube
