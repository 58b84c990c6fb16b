// Queue of objects to be examined: each key at most once, never by two workers at a time, later
// when it failed or asked for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "services/base/clock.h"
#include "services/base/random.h"

namespace eidolon::controller::kube {

// Thread safe. Time comes from the clock; waiting threads look again at least every 100 ms.
class WorkQueue {
 public:
  explicit WorkQueue(const base::RealClock& clock) : clock_(clock) {}

  void Add(const std::string& key) { AddAfter(key, 0); }
  void AddAfter(const std::string& key, std::int64_t delay_ns);
  // A key that is due, for this caller alone until Done; nothing now.
  std::optional<std::string> TakeDue();
  // The same, waiting; nothing after Stop.
  std::optional<std::string> Take();
  // It went well: the next failure starts with a short wait again.
  void Done(const std::string& key);
  // It failed: again after 5 ms, doubling to 60 s, with jitter.
  void Failed(const std::string& key);
  void Stop();
  // Keys that wait, due or not.
  std::size_t size() const;

 private:
  void Release(const std::string& key);

  const base::RealClock& clock_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable due_;
  std::map<std::string, std::int64_t> waiting_;  // Key to the time it is due.
  std::set<std::string> taken_;
  std::map<std::string, int> failures_;
  base::Random random_{0x5eed};
  bool stopping_ = false;
};

}  // namespace eidolon::controller::kube
