// Hashes of content: the same bytes give the same number in every process and on every platform.
// Not cryptographic. Hash64 is for interning on hot paths; Hash128 (XXH3) for identities that are
// stored, such as the keys of profiles.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace eidolon::base {

// Multiplies two 64-bit words and folds the 128-bit product: the mixing step of Hash64.
inline std::uint64_t FoldedMultiply(std::uint64_t a, std::uint64_t b) {
  __extension__ typedef unsigned __int128 Product;
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Requires: data points to `size` readable bytes. About 8 bytes a cycle.
inline std::uint64_t Hash64(const void* data, std::size_t size, std::uint64_t seed = 0) {
  constexpr std::uint64_t kA = 0x9e3779b97f4a7c15u;
  constexpr std::uint64_t kB = 0xd6e8feb86659fd93u;
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t state = seed ^ FoldedMultiply(size ^ kA, kB);
  std::size_t left = size;
  while (left >= 16) {
    std::uint64_t words[2];
    std::memcpy(words, bytes, 16);
    state = FoldedMultiply(words[0] ^ kA, words[1] ^ state ^ kB);
    bytes += 16;
    left -= 16;
  }
  std::uint64_t tail[2] = {0, 0};
  if (left > 0) std::memcpy(tail, bytes, left);  // No bytes may be at no address.
  return FoldedMultiply(FoldedMultiply(tail[0] ^ kB, tail[1] ^ state ^ kA), kA ^ size);
}

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Digest&) const = default;
};

// XXH3_128bits of the bytes. Requires: data points to `size` readable bytes.
Digest Hash128(const void* data, std::size_t size);

}  // namespace eidolon::base
