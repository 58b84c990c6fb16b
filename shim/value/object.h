// Pickled objects as torch.distributed sends them: the longest of all ranks decides the size, and
// what lies behind a shorter one is padding that nobody ever wrote. It travels as zeros. A pickle
// ends with a byte that is not zero, so the receiver can tell what nobody knows.
#pragma once

#include <cstddef>
#include <span>

namespace eidolon::shim::value {

inline constexpr std::size_t kShortestPickle = 4;

// PROTO and its version.
inline bool StartsLikeAPickle(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x80} && bytes[1] >= std::byte{2} &&
         bytes[1] <= std::byte{5};
}

// Returns how many of the bytes that arrived are known for sure.
inline std::size_t KnownOfObject(std::span<const std::byte> bytes) {
  if (!StartsLikeAPickle(bytes)) return bytes.size();
  std::size_t known = bytes.size();
  while (known > 0 && bytes[known - 1] == std::byte{0}) --known;
  return known;
}

}  // namespace eidolon::shim::value
