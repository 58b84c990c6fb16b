// One machine instruction: 128 bits. Bits 0 to 11 say the operation and
// where its operands come from, 12 to 15 the guarding predicate, 105 and up how it is scheduled,
// which does not change what it computes.
#pragma once

#include <cstdint>

#include "services/machine_code/sass/dialect.h"

namespace eidolon::sass {

inline constexpr std::uint64_t kWordBytes = 16;

struct Word {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const Word&) const = default;

  // `width` bits from bit `at` on. Requires: width is 1 to 63, at + width at most 128.
  constexpr std::uint64_t Bits(unsigned at, unsigned width) const {
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    if (at >= 64) return (high >> (at - 64)) & mask;
    std::uint64_t value = low >> at;
    if (at != 0 && at + width > 64) value |= high << (64 - at);
    return value & mask;
  }
  constexpr bool Bit(unsigned at) const { return Bits(at, 1) != 0; }
  // Returns the field as Bits does, with the uppermost bit as the sign.
  constexpr std::int64_t Signed(unsigned at, unsigned width) const {
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    return static_cast<std::int64_t>((Bits(at, width) ^ sign) - sign);
  }
  // Requires: as for Bits.
  constexpr void Set(unsigned at, unsigned width, std::uint64_t value) {
    for (unsigned i = 0; i < width; ++i) {
      std::uint64_t& half = at + i < 64 ? low : high;
      const std::uint64_t bit = std::uint64_t{1} << ((at + i) % 64);
      half = (value >> i & 1) != 0 ? half | bit : half & ~bit;
    }
  }
  constexpr std::uint32_t opcode() const { return static_cast<std::uint32_t>(low & 0xfff); }
};

// Bits of an opcode that say the operation; those above say the form of its operands.
inline constexpr unsigned kBaseBits = 9;
inline constexpr std::uint32_t kBaseMask = (1u << kBaseBits) - 1;

// Numbers that stand for "always zero" and "always true".
inline constexpr std::uint32_t kZeroRegister = 255;
inline constexpr std::uint32_t kZeroUniform = 255;
inline constexpr std::uint32_t kTruePredicate = 7;

// The uniform register that the field at `at` names: 6 bits, 8 in 10.x.
constexpr std::uint32_t UniformAt(const Word& word, unsigned at, Dialect dialect) {
  constexpr std::uint32_t kZeroOfNarrow = 63;
  if (dialect == Dialect::k100) return static_cast<std::uint32_t>(word.Bits(at, 8));
  const auto number = static_cast<std::uint32_t>(word.Bits(at, 6));
  return number == kZeroOfNarrow ? kZeroUniform : number;
}

// Bytes that a branch adds to the address behind itself.
constexpr std::int64_t BranchOffset(const Word& word, Dialect dialect) {
  if (dialect == Dialect::k80) return word.Signed(34, 48) * 4;
  return word.Signed(34, 48) * 1024 + static_cast<std::int64_t>(word.Bits(16, 8)) * 4;
}

}  // namespace eidolon::sass
