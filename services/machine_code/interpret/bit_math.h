// Bit operations that vector and uniform instructions share.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "services/machine_code/sass/word.h"

namespace eidolon::interpret {

// Any function of three bits: bit 4a + 2b + c of the table is the result for a, b, c.
constexpr std::uint32_t ByTable(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                std::uint64_t table) {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((table >> i & 1) == 0) continue;
    result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  return result;
}

// The fields of SHF: shifts the pair {high, low} and gives one of its words.
struct FunnelShift {
  bool right = false;
  bool wraps = false;
  bool is_signed = false;
  bool is_wide = false;
  bool takes_upper = false;

  explicit FunnelShift(const sass::Word& word)
      : right(word.Bit(76)),
        wraps(word.Bit(75)),
        is_signed(!word.Bit(73)),
        is_wide(!word.Bit(74)),
        takes_upper(word.Bit(80)) {}

  std::uint32_t operator()(std::uint32_t low, std::uint32_t amount, std::uint32_t high) const {
    const std::uint32_t width = is_wide ? 64 : 32;
    const std::uint32_t shift = wraps ? amount & (width - 1) : std::min(amount, width);
    std::uint64_t value = std::uint64_t{high} << 32 | low;
    if (!right) {
      value = shift >= 64 ? 0 : value << shift;
    } else if (is_signed) {
      value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >>
                                         std::min<std::uint32_t>(shift, 63));
    } else {
      value = shift >= 64 ? 0 : value >> shift;
    }
    return static_cast<std::uint32_t>(takes_upper ? value >> 32 : value);
  }
};

// PRMT: bytes of {c, a} by the nibbles of the selector; an upper bit spreads the byte's sign.
inline std::uint32_t Permute(std::uint32_t a, std::uint32_t selector, std::uint32_t c,
                             std::uint64_t mode) {
  const std::uint64_t bytes = std::uint64_t{c} << 32 | a;
  const auto byte = [bytes](std::uint32_t i) {
    return static_cast<std::uint32_t>(bytes >> (8 * (i & 7)) & 0xff);
  };
  std::uint32_t result = 0;
  const std::uint32_t s = selector & 3;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::uint32_t value = 0;
    switch (mode) {
      case 0: {
        const std::uint32_t nibble = selector >> (4 * i) & 15;
        value = byte(nibble);
        if ((nibble & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
        break;
      }
      case 1:
        value = byte(s + i);
        break;
      case 2:
        value = byte(s + 8 - i);
        break;
      case 3:
        value = byte(s);
        break;
      case 4:
        value = byte(std::max(i, s));
        break;
      case 5:
        value = byte(std::min(i, s));
        break;
      default:
        value = byte((s & 1) * 2 + (i & 1));
        break;
    }
    result |= value << (8 * i);
  }
  return result;
}

// Ones of `width` bits from `at` on.
constexpr std::uint32_t BitField(std::uint32_t at, std::uint32_t width, bool wraps) {
  if (wraps) {
    at &= 31;
    width &= 31;
  }
  if (at >= 32) return 0;
  const std::uint32_t ones = width >= 32 ? ~0u : (1u << width) - 1;
  return ones << at;
}

// The highest one (signed: the highest bit that differs from the sign); as a distance from the top
// with `as_shift`. All ones when there is none.
constexpr std::uint32_t FindLeading(std::uint32_t value, bool is_signed, bool as_shift) {
  if (is_signed && static_cast<std::int32_t>(value) < 0) value = ~value;
  if (value == 0) return ~0u;
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(value));
  return as_shift ? zeros : 31 - zeros;
}

// The bits from the other end.
constexpr std::uint32_t Reversed(std::uint32_t value) {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (value >> i & 1) << (31 - i);
  return result;
}

}  // namespace eidolon::interpret
