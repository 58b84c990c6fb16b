// A hash map from the shim's identifiers to small values: open addressing, linear probing, no
// tombstones. The engine looks up one or two identifiers a record, so this is on the hot path;
// iteration order is unspecified and therefore not offered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "services/base/check.h"

namespace eidolon::agent::device {

// Keys are any 64-bit numbers but kNoKey. Pointers to values stay valid until the next Insert or
// Erase.
template <typename Value>
class IdMap {
 public:
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

  Value* Find(std::uint64_t key) {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = Home(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == kNoKey) return nullptr;
    }
  }

  // The value of a new key. Requires: the key is not present.
  Value& Insert(std::uint64_t key, Value value) {
    CHECK(key != kNoKey);
    if (slots_.empty() || (size_ + 1) * 2 > slots_.size()) Grow();
    std::size_t i = Home(key);
    while (slots_[i].key != kNoKey) {
      CHECK(slots_[i].key != key);
      i = (i + 1) & mask_;
    }
    slots_[i].key = key;
    slots_[i].value = std::move(value);
    ++size_;
    return slots_[i].value;
  }

  // True when the key was present.
  bool Erase(std::uint64_t key) {
    if (slots_.empty()) return false;
    std::size_t i = Home(key);
    while (slots_[i].key != key) {
      if (slots_[i].key == kNoKey) return false;
      i = (i + 1) & mask_;
    }
    CloseGap(i);
    --size_;
    return true;
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = kNoKey;
    Value value{};
  };

  std::size_t Home(std::uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 32) & mask_; }

  // Moves later members of the probe chain back, so that every key stays reachable from its home.
  void CloseGap(std::size_t gap) {
    for (std::size_t i = (gap + 1) & mask_; slots_[i].key != kNoKey; i = (i + 1) & mask_) {
      const std::size_t home = Home(slots_[i].key);
      if (((i - home) & mask_) >= ((i - gap) & mask_)) {
        slots_[gap] = std::move(slots_[i]);
        gap = i;
      }
    }
    slots_[gap] = Slot{};
  }

  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    size_ = 0;
    for (Slot& slot : old) {
      if (slot.key != kNoKey) Insert(slot.key, std::move(slot.value));
    }
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
};

}  // namespace eidolon::agent::device
