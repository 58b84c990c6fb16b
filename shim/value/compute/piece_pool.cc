#include "shim/value/compute/piece_pool.h"

#include <algorithm>
#include <mutex>
#include <new>

namespace eidolon::shim::compute {

void* PiecePool::Take(std::size_t bytes) {
  const std::size_t kind = (sizeof(Head) + bytes + kUnit - 1) / kUnit;
  const std::size_t size = kind * kUnit;
  if (kind >= kKinds) return ::new (::operator new(size)) Head{.kind = kind} + 1;
  const std::lock_guard guard(lock_);
  void* memory = free_[kind];
  if (memory != nullptr) {
    free_[kind] = free_[kind]->next;
  } else {
    if (left_ < size) {  // What is left of the last slab is lost: less than a piece.
      slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(kSlabBytes));
      next_ = slabs_.back().get();
      left_ = kSlabBytes;
    }
    memory = next_;
    next_ += size;
    left_ -= size;
  }
  return ::new (memory) Head{.kind = kind} + 1;
}

void PiecePool::Give(void* piece) noexcept {
  Head* const head = static_cast<Head*>(piece) - 1;
  const std::size_t kind = head->kind;
  if (kind >= kKinds) return ::operator delete(head);
  const std::lock_guard guard(lock_);
  head->next = free_[kind];
  free_[kind] = head;
}

}  // namespace eidolon::shim::compute
