// Describes where constant bank 0 holds the system's values for a kernel, and where shared memory
// begins: by dialect, as compilers read them.
#pragma once

#include <cstdint>

#include "services/machine_code/sass/dialect.h"

namespace eidolon::interpret {

inline constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};

// Places in constant bank 0.
struct Layout {
  std::uint32_t block = 0;                  // Three words: the block's dimensions.
  std::uint32_t grid = 0;                   // Three words.
  std::uint32_t shared_window = kNoPlace;   // An address.
  std::uint32_t local_window = 0;           // An address.
  std::uint32_t stack = 0;                  // A word: where a thread's stack begins.
  std::uint32_t dynamic_shared = kNoPlace;  // A word: bytes of shared memory that the launch added.
  std::uint32_t descriptor = 0;             // Two words: of global memory.
  std::uint32_t parameters = 0;
  std::uint32_t first_shared = 0;  // In shared memory: behind what the system keeps for itself.
};

constexpr Layout LayoutOf(sass::Dialect dialect) {
  if (dialect == sass::Dialect::k80) {
    return {.block = 0x0,
            .grid = 0xc,
            .shared_window = 0x18,
            .local_window = 0x20,
            .stack = 0x28,
            .dynamic_shared = 0x2c,
            .descriptor = 0x118,
            .parameters = 0x160};
  }
  if (dialect == sass::Dialect::k100) {
    return {.block = 0x360,
            .grid = 0x370,
            .local_window = 0x2f8,
            .stack = 0x37c,
            .descriptor = 0x358,
            .parameters = 0x380,
            .first_shared = 0x400};
  }
  return {.block = 0x0,
          .grid = 0xc,
          .local_window = 0x20,
          .stack = 0x28,
          .dynamic_shared = 0x2c,
          .descriptor = 0x208,
          .parameters = 0x210,
          .first_shared = 0x400};
}

// Returns whether it is known what lies there; also of bytes in the middle.
constexpr bool IsKnown(const Layout& layout, std::uint32_t offset) {
  const auto within = [offset](std::uint32_t begin, std::uint32_t bytes) {
    return begin != kNoPlace && offset >= begin && offset - begin < bytes;
  };
  return within(layout.block, 12) || within(layout.grid, 12) || within(layout.shared_window, 8) ||
         within(layout.local_window, 8) || within(layout.stack, 4) ||
         within(layout.dynamic_shared, 4) || within(layout.descriptor, 8) ||
         offset >= layout.parameters;
}

}  // namespace eidolon::interpret
