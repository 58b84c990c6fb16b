// A set of byte addresses as disjoint ranges, so that questions about long runs cost a tree
// look-up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace eidolon::shim::value {

// This class is not thread-safe: its owner locks. Ranges are [begin, end).
class RangeSet {
 public:
  void Add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin()) {
      const auto before = std::prev(next);
      if (before->second >= end) return;
      if (before->second >= begin) {
        begin = before->first;
        end = std::max(end, before->second);
        next = ranges_.erase(before);
      }
    }
    while (next != ranges_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace_hint(next, begin, end);
  }

  void Remove(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto at = First(begin);
    while (at != ranges_.end() && at->first < end) {
      const auto [old_begin, old_end] = *at;
      at = ranges_.erase(at);
      if (old_begin < begin) ranges_.emplace_hint(at, old_begin, begin);
      if (old_end > end) ranges_.emplace_hint(at, end, old_end);
    }
  }

  // Requires: begin < end.
  bool Contains(std::uint64_t begin, std::uint64_t end) const {
    const auto at = First(begin);
    return at != ranges_.end() && at->first <= begin && at->second >= end;
  }

  // True when a part of the set lies inside [begin, end).
  bool HasAny(std::uint64_t begin, std::uint64_t end) const {
    const auto at = First(begin);
    return at != ranges_.end() && at->first < end && begin < end;
  }

  // Returns where the range that holds the address ends; 0 when none does.
  std::uint64_t EndOf(std::uint64_t address) const {
    const auto at = First(address);
    return at != ranges_.end() && at->first <= address ? at->second : 0;
  }

  // Calls body(begin, end) for each part of the set inside [begin, end), in order. The body must
  // not change the set.
  template <typename Body>
  void ForEach(std::uint64_t begin, std::uint64_t end, Body&& body) const {
    for (auto at = First(begin); at != ranges_.end() && at->first < end; ++at) {
      body(std::max(at->first, begin), std::min(at->second, end));
    }
  }

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;

  // The first range that ends behind the address.
  Ranges::const_iterator First(std::uint64_t address) const {
    auto at = ranges_.upper_bound(address);
    if (at == ranges_.begin()) return at;
    const auto before = std::prev(at);
    return before->second > address ? before : at;
  }

  Ranges ranges_;  // Begin to end; no two touch.
};

}  // namespace eidolon::shim::value
