// A set of pieces of memory that is emptied in no time: what a block has touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace eidolon::timing::count {

class SectorSet {
 public:
  SectorSet() : slots_(kFirstSlots) {}

  // True when the number was not there yet.
  bool Add(std::uint64_t number) { return !Stamp(number, 0); }

  // Adds the number with a stamp; the stamp that it had, nothing when it was not there yet.
  std::optional<std::uint64_t> Stamp(std::uint64_t number, std::uint64_t stamp) {
    if (size_ * 2 >= slots_.size()) Grow();
    Slot& slot = Find(number);
    if (slot.generation == generation_) return std::exchange(slot.stamp, stamp);
    slot = {number, generation_, stamp};
    ++size_;
    return std::nullopt;
  }
  void Clear() {
    ++generation_;
    size_ = 0;
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kFirstSlots = 1024;
  struct Slot {
    std::uint64_t number = 0;
    std::uint64_t generation = 0;  // Taken when it is the set's.
    std::uint64_t stamp = 0;
  };

  Slot& Find(std::uint64_t number) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(number * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (slots_[at].generation == generation_ && slots_[at].number != number) {
      at = (at + 1) & mask;
    }
    return slots_[at];
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.generation == generation_) Find(slot.number) = slot;
    }
  }

  std::vector<Slot> slots_;  // As many as a power of two.
  std::uint64_t generation_ = 1;
  std::size_t size_ = 0;
};

}  // namespace eidolon::timing::count
