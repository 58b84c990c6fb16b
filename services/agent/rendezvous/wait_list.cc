#include "services/agent/rendezvous/wait_list.h"

#include <utility>

namespace eidolon::agent::rendezvous {

void WaitList::Begin(int waiter, Wait wait) {
  Cancel(waiter);
  for (const std::string& key : wait.keys) waiters_[key].push_back(waiter);
  waits_[waiter] = std::move(wait);
}

void WaitList::Cancel(int waiter) {
  const auto found = waits_.find(waiter);
  if (found == waits_.end()) return;
  for (const std::string& key : found->second.keys) {
    const auto waiting = waiters_.find(key);
    std::erase(waiting->second, waiter);
    if (waiting->second.empty()) waiters_.erase(waiting);
  }
  waits_.erase(found);
}

std::vector<int> WaitList::Arrive(const std::string& key) {
  const auto waiting = waiters_.find(key);
  if (waiting == waiters_.end()) return {};
  std::vector<int> done;
  for (const int waiter : waiting->second) {
    const auto wait = waits_.find(waiter);
    wait->second.keys.erase(key);
    if (!wait->second.keys.empty()) continue;
    waits_.erase(wait);
    done.push_back(waiter);
  }
  waiters_.erase(waiting);
  return done;
}

std::optional<int> WaitList::ArriveForOne(const std::string& key) {
  const auto waiting = waiters_.find(key);
  if (waiting == waiters_.end()) return std::nullopt;
  for (const int waiter : waiting->second) {
    if (waits_.at(waiter).keys.size() > 1) continue;
    Cancel(waiter);
    return waiter;
  }
  // Whoever also waits for something else takes nothing from the queue yet.
  const int first = waiting->second.front();
  waits_.at(first).keys.erase(key);
  waiting->second.erase(waiting->second.begin());
  if (waiting->second.empty()) waiters_.erase(waiting);
  return std::nullopt;
}

}  // namespace eidolon::agent::rendezvous
