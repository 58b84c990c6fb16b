// Memory for the many records that come and go together: more than the allocator keeps at hand.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "shim/core/spin_lock.h"

namespace eidolon::shim::compute {

// Thread safe. Pieces that came back are kept for others of about their size; large ones are the
// allocator's.
class PiecePool {
 public:
  // Aligned to 16 bytes.
  void* Take(std::size_t bytes);
  // Requires: it is from Take, and nobody gave it back.
  void Give(void* piece) noexcept;

 private:
  // Head before each piece: its size while it is used, the next one while it is free.
  union alignas(16) Head {
    std::size_t kind;
    Head* next;
  };
  static constexpr std::size_t kUnit = 64;
  static constexpr std::size_t kKinds = 64;  // Up to 4 KiB.
  static constexpr std::size_t kSlabBytes = 256 << 10;

  core::SpinLock lock_;  // Guards the rest.
  std::array<Head*, kKinds> free_{};
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace eidolon::shim::compute
