#include "services/controller/place/job_queue.h"

#include <algorithm>

namespace eidolon::controller::place {

void JobQueue::Add(std::int64_t job) {
  if (!PositionOf(job) && !running_.contains(job)) waiting_.push_back(job);
}

void JobQueue::AddFirst(std::int64_t job) {
  if (!PositionOf(job) && !running_.contains(job)) waiting_.push_front(job);
}

std::optional<std::int64_t> JobQueue::TakeNext() {
  if (waiting_.empty() || running_.size() >= limit_) return std::nullopt;
  const std::int64_t job = waiting_.front();
  waiting_.pop_front();
  running_.insert(job);
  return job;
}

void JobQueue::Remove(std::int64_t job) {
  running_.erase(job);
  std::erase(waiting_, job);
}

std::optional<std::size_t> JobQueue::PositionOf(std::int64_t job) const {
  const auto found = std::find(waiting_.begin(), waiting_.end(), job);
  if (found == waiting_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - waiting_.begin());
}

}  // namespace eidolon::controller::place
