// Runs of bits in the maps of a page.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "services/machine_code/interpret/memory.h"

namespace eidolon::shim::compute {

// The first bit from `at` on that is `set`, or the page's end.
inline std::size_t FindBit(const interpret::PageBits& bits, std::size_t at, bool set) {
  while (at < interpret::kPageBytes) {
    std::uint64_t word = bits[at / 64];
    if (!set) word = ~word;
    word >>= at % 64;
    if (word != 0) {
      return std::min<std::size_t>(at + static_cast<std::size_t>(std::countr_zero(word)),
                                   interpret::kPageBytes);
    }
    at = (at / 64 + 1) * 64;
  }
  return interpret::kPageBytes;
}

// Calls body(begin, end) for each run of ones, in order.
template <typename Body>
void ForEachRun(const interpret::PageBits& bits, Body&& body) {
  std::size_t at = 0;
  while ((at = FindBit(bits, at, true)) < interpret::kPageBytes) {
    const std::size_t end = FindBit(bits, at, false);
    body(at, end);
    at = end;
  }
}

}  // namespace eidolon::shim::compute
