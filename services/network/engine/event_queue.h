// The time-ordered queue of a simulation: a 4-ary heap, which touches fewer cache lines than a
// binary one. It knows nothing of networks.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "services/base/check.h"

namespace eidolon::network::engine {

// Events leave in the order of their operator<. That order must be total and made of the events'
// content alone (time first, then identity), never of insertion, so that the order of arrival in
// real time cannot be seen in a result. There is no removal: whoever owns the events skips stale
// ones by a version of its own. Not thread safe.
template <typename Event>
class EventQueue {
 public:
  bool Empty() const { return heap_.empty(); }
  std::size_t Size() const { return heap_.size(); }

  // Requires: !Empty().
  const Event& Top() const {
    CHECK(!heap_.empty());
    return heap_.front();
  }

  void Push(Event event) {
    heap_.push_back(std::move(event));
    Rise(heap_.size() - 1);
  }

  // Requires: !Empty().
  Event Pop() {
    CHECK(!heap_.empty());
    Event first = std::move(heap_.front());
    if (heap_.size() > 1) heap_.front() = std::move(heap_.back());
    heap_.pop_back();
    if (!heap_.empty()) Sink(0);
    return first;
  }

 private:
  static constexpr std::size_t kChildren = 4;

  void Rise(std::size_t at) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!(heap_[at] < heap_[parent])) return;
      std::swap(heap_[at], heap_[parent]);
      at = parent;
    }
  }

  void Sink(std::size_t at) {
    for (;;) {
      const std::size_t first = at * kChildren + 1;
      std::size_t least = at;
      for (std::size_t child = first; child < first + kChildren && child < heap_.size(); ++child) {
        if (heap_[child] < heap_[least]) least = child;
      }
      if (least == at) return;
      std::swap(heap_[at], heap_[least]);
      at = least;
    }
  }

  std::vector<Event> heap_;
};

}  // namespace eidolon::network::engine
