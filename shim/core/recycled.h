// Memory of objects whose addresses are handles of the program: given back to a list of the type's
// own, zeroed and never unmapped. So a stale handle finds no magic number, instead of reading
// memory that somebody else has got.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

#include "shim/core/spin_lock.h"

namespace eidolon::shim::core {

// Base of such a type; it adds no bytes. The type's magic number is at its begin, not 0 while the
// object lives. Thread safe.
template <typename T>
class Recycled {
 public:
  static void* operator new(std::size_t) {
    void* block = TakeFree();
    return block != nullptr ? block : ::operator new(BlockBytes());
  }
  static void* operator new(std::size_t, const std::nothrow_t& tag) noexcept {
    void* block = TakeFree();
    return block != nullptr ? block : ::operator new(BlockBytes(), tag);
  }

  static void operator delete(void* block) noexcept {
    std::memset(block, 0, BlockBytes());
    const std::lock_guard guard(list_.lock);
    std::memcpy(LinkOf(block), &list_.first, sizeof(void*));
    list_.first = block;
  }

 protected:
  Recycled() = default;
  ~Recycled() = default;
  Recycled(const Recycled&) = default;
  Recycled& operator=(const Recycled&) = default;

 private:
  struct List {
    SpinLock lock;  // Guards `first`.
    void* first = nullptr;
  };
  // The next free block is named in the last bytes, behind the magic number.
  static constexpr std::size_t BlockBytes() {
    return std::max(sizeof(T), 2 * sizeof(std::uint64_t));
  }
  static void* LinkOf(void* block) {
    return static_cast<std::byte*>(block) + BlockBytes() - sizeof(void*);
  }
  static void* TakeFree() noexcept {
    const std::lock_guard guard(list_.lock);
    void* block = list_.first;
    if (block != nullptr) std::memcpy(&list_.first, LinkOf(block), sizeof(void*));
    return block;
  }

  static constinit inline List list_;
};

}  // namespace eidolon::shim::core
