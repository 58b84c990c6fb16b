// Objects whose addresses are the program's handles. They are recycled and never unmapped, so that
// a stale handle is seen (its magic is cleared) instead of read from freed memory.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "shim/core/spin_lock.h"

namespace eidolon::shim::gpu {

// Thread safe. T has a member `magic` and a constant T::kMagic.
template <typename T>
class HandlePool {
 public:
  // A fresh or recycled object; the caller fills it and sets its magic last.
  T* Take() {
    const std::lock_guard guard(lock_);
    if (free_.empty()) return &objects_.emplace_back();
    T* object = free_.back();
    free_.pop_back();
    return object;
  }

  // Requires: object came from Take and is alive.
  void GiveBack(T* object) {
    const std::lock_guard guard(lock_);
    object->magic = 0;
    free_.push_back(object);
  }

 private:
  core::SpinLock lock_;  // Guards both.
  std::deque<T> objects_;
  std::vector<T*> free_;
};

// The live object behind a handle; nullptr for null, small numbers, misaligned and stale handles.
template <typename T>
T* FromHandle(void* handle) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(handle);
  if (address < 4096 || address % alignof(T) != 0) return nullptr;
  T* object = static_cast<T*>(handle);
  return object->magic == T::kMagic ? object : nullptr;
}

}  // namespace eidolon::shim::gpu
