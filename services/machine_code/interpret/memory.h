// The memory that interpreted kernels see: pages that somebody else fills and collects. A byte is
// known or not; a kernel that reads an unknown byte stops.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eidolon::interpret {

inline constexpr std::uint64_t kPageBytes = 4096;

// A bit per byte of a page.
using PageBits = std::array<std::uint64_t, kPageBytes / 64>;

struct Page {
  std::array<std::byte, kPageBytes> bytes;
  PageBits known;
  PageBits read;
  PageBits written;
};

class Memory {
 public:
  virtual ~Memory() = default;
  // The page of this number (address / kPageBytes), which stays where it is while the kernel runs;
  // nullptr when a kernel may not touch it.
  virtual Page* FindPage(std::uint64_t number) = 0;
};

}  // namespace eidolon::interpret
