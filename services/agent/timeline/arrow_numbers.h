// Numbers of the arrows that lead from calls to their operations. A trace names each arrow at both
// ends, so its numbers are bytes of every operation. They are chosen so that a program that repeats
// itself writes the same bytes again, which compress to nearly nothing: an arrow gets the number of
// an earlier one at the same place of the program that is over by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace eidolon::agent::timeline {

// Nanoseconds.
struct Arrow {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t what = 0;  // What it leads to; the same for what a program repeats.
};

// Numbers of one process; arrows come in the order of their beginnings. Not thread safe.
class ArrowNumbers {
 public:
  struct Number {
    std::uint32_t value = 0;
    bool ends = false;  // The arrow ends where it leads to, and others get its number later.
  };
  Number Next(const Arrow& arrow);

 private:
  // Operations that must be alike before two places of the program are held for the same.
  static constexpr std::size_t kAlike = 4;
  // Places that are looked at, the latest first.
  static constexpr std::size_t kLooks = 4;

  std::uint64_t ContextOf(std::size_t position) const;
  bool IsFree(std::uint32_t number, std::uint64_t from) const { return busy_[number] < from; }
  // An earlier arrow whose number this one may have; their count: there is none.
  std::size_t FindFree(const Arrow& arrow, const std::vector<std::uint32_t>& places) const;

  struct Past {
    std::uint64_t to = 0;
    std::uint64_t what = 0;
    std::uint32_t number = 0;
  };
  std::vector<Past> past_;           // All before, in their order.
  std::vector<std::uint64_t> busy_;  // By number: until when it is taken.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> places_;  // By context.
  std::size_t over_ = 0;       // Arrows before this one have ended.
  std::size_t following_ = 0;  // Where the last number was from, plus one; 0: it was new.
  std::uint32_t single_ = 0;   // Numbers that are never given again.
};

}  // namespace eidolon::agent::timeline
