// Tracks where a register's content may come from, as far as it matters for where a kernel writes:
// from a pointer among the launch's parameters, from memory, or from neither.
#pragma once

#include <cstdint>

namespace eidolon::interpret {

// A set of possibilities, one bit each.
inline constexpr std::uint8_t kFromNeither = 1 << 0;
inline constexpr std::uint8_t kFromPointer = 1 << 1;
inline constexpr std::uint8_t kFromMemory = 1 << 2;
inline constexpr std::uint8_t kFromBoth = 1 << 3;  // Sums of the two: a pointer and an index.

// Range in which a number lies, as far as places in a constant bank need it.
struct Bounds {
  static constexpr std::uint16_t kUnbounded = 0xffff;

  std::uint16_t least = 0;
  std::uint16_t most = kUnbounded;

  static constexpr Bounds Exactly(std::uint64_t number) { return Between(number, number); }
  // None where these are too large.
  static constexpr Bounds Between(std::uint64_t least, std::uint64_t most) {
    if (most >= kUnbounded) return {};
    return {static_cast<std::uint16_t>(least), static_cast<std::uint16_t>(most)};
  }
  constexpr bool exist() const { return most != kUnbounded; }
  bool operator==(const Bounds&) const = default;
};

struct Origin {
  std::uint8_t ways = 0;
  bool values = false;         // May be another one when memory holds other values.
  Bounds bounds{};             // Of what it may be, as an unsigned number.
  std::uint64_t pointers = 0;  // Whose: a bit each; bit 63 for all from the 64th on.

  bool operator==(const Origin&) const = default;
};

inline constexpr Origin kNeither{.ways = kFromNeither};
inline constexpr Origin kZero{.ways = kFromNeither, .bounds = Bounds::Exactly(0)};
inline constexpr Origin kLoaded{.ways = kFromMemory, .values = true};

// One or the other. Different bounds give none, or those of a loop's counter would rise forever.
constexpr Origin Either(const Origin& a, const Origin& b) {
  return {static_cast<std::uint8_t>(a.ways | b.ways), a.values || b.values,
          a.bounds == b.bounds ? a.bounds : Bounds{}, a.pointers | b.pointers};
}

constexpr Origin Sum(const Origin& a, const Origin& b) {
  Origin result = Either(a, b);
  result.ways = 0;
  result.bounds = {};
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned j = 0; j < 4; ++j) {
      if ((a.ways >> i & 1) != 0 && (b.ways >> j & 1) != 0) {
        result.ways = static_cast<std::uint8_t>(result.ways | 1u << (i | j));
      }
    }
  }
  return result;
}

// A number made of it that is not a pointer any more: a difference, a multiple.
constexpr Origin Stripped(const Origin& a) {
  Origin result = a;
  result.bounds = {};
  result.ways = a.ways & (kFromNeither | kFromMemory);
  if ((a.ways & kFromPointer) != 0) result.ways |= kFromNeither;
  if ((a.ways & kFromBoth) != 0) result.ways |= kFromMemory;
  return result;
}

}  // namespace eidolon::interpret
