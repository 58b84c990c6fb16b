// Keeps which clients wait for which keys of the rendezvous store. Pure: no sockets, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace eidolon::agent::rendezvous {

// Waiters have numbers, and wait for one thing at a time. Not thread safe.
class WaitList {
 public:
  struct Wait {
    std::set<std::string> keys;  // Not empty.
    std::int64_t ranks = 0;      // Of a barrier: how many it waits for; 0: it waits for values.
  };

  // An earlier wait of `waiter` is forgotten.
  void Begin(int waiter, Wait wait);
  void Cancel(int waiter);
  // `key` has a value: who waits for nothing else any more, in the order in which they began.
  std::vector<int> Arrive(const std::string& key);
  // A queue has one more member, which is for one: who waits for nothing else and began first.
  std::optional<int> ArriveForOne(const std::string& key);

  // Returns all waits by waiter.
  const std::map<int, Wait>& all() const { return waits_; }

 private:
  std::map<int, Wait> waits_;
  std::map<std::string, std::vector<int>> waiters_;  // By key; none of them empty.
};

}  // namespace eidolon::agent::rendezvous
