// Queue of jobs: first come, first served, a limited number at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>

namespace eidolon::controller::place {

// Jobs by their uid. Not thread safe.
class JobQueue {
 public:
  // Requires: limit > 0.
  explicit JobQueue(std::size_t limit) : limit_(limit) {}

  void Add(std::int64_t job);
  // Adds the job before all others.
  void AddFirst(std::int64_t job);
  // The next job, now counted as running; nothing while the limit is reached or nobody waits.
  std::optional<std::int64_t> TakeNext();
  // The job no longer waits or runs; unknown jobs are fine.
  void Remove(std::int64_t job);
  // Returns how many wait before this one; nothing when it does not wait.
  std::optional<std::size_t> PositionOf(std::int64_t job) const;

  std::size_t waiting() const { return waiting_.size(); }
  std::size_t running() const { return running_.size(); }
  std::size_t limit() const { return limit_; }

 private:
  std::size_t limit_;
  std::deque<std::int64_t> waiting_;
  std::set<std::int64_t> running_;
};

}  // namespace eidolon::controller::place
