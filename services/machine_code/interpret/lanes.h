// Reading operands and writing results, 32 lanes at a time.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "services/machine_code/interpret/warp.h"

namespace eidolon::interpret {

// Outside the bank the launch ends as a fault.
inline std::uint32_t ReadConstant(LaunchState& launch, std::uint32_t bank, std::uint32_t offset) {
  std::span<const std::byte> bytes = launch.bank0;
  if (bank != 0) {
    const auto found = launch.program->banks.find(bank);
    bytes = found == launch.program->banks.end() ? std::span<const std::byte>() : found->second;
  }
  std::uint32_t value = 0;
  if (std::uint64_t{offset} + 4 > bytes.size()) {
    launch.End(Stop::kFault, offset);
    return value;
  }
  std::memcpy(&value, bytes.data() + offset, 4);
  if (bank == 0 && launch.words_read != nullptr && offset + 3 >= launch.parameter_base) {
    // Returns the two words in which a misaligned one lies.
    const std::uint32_t first = std::max(offset, launch.parameter_base) - launch.parameter_base;
    launch.words_read[first / 4] = 1;
    launch.words_read[(offset + 3 - launch.parameter_base) / 4] = 1;
  }
  return value;
}

// A value that all lanes share.
inline std::uint32_t Scalar(const Warp& warp, const Operand& operand, std::uint32_t word = 0) {
  switch (operand.kind) {
    case Operand::Kind::kFixed:
      return operand.immediate;
    case Operand::Kind::kUniform:
      return operand.uniform == sass::kZeroUniform ? 0 : warp.uniform[operand.uniform + word];
    case Operand::Kind::kConstant:
      return ReadConstant(*warp.launch, operand.bank, operand.offset + 4 * word);
    default:
      return 0;
  }
}

inline void Fill(Lanes& lanes, std::uint32_t value) { lanes.fill(value); }

// The operand's 32 values without its sign changes: in place, or in `buffer`. `word`: 1 for the
// upper half of a pair.
inline const std::uint32_t* Plain(Warp& warp, const Operand& operand, Lanes& buffer,
                                  unsigned word = 0) {
  if (operand.kind == Operand::Kind::kRow) {
    return warp.Row(operand.row == kZeroRow ? kZeroRow : operand.row + word);
  }
  if (operand.kind == Operand::Kind::kFixed && word == 0) return operand.lanes;
  Fill(buffer, operand.kind == Operand::Kind::kFixed ? 0 : Scalar(warp, operand, word));
  return buffer.data();
}

// Returns the operand with the signs of single precision numbers (or of the upper half of double
// precision ones).
inline const std::uint32_t* Signed(Warp& warp, const Operand& operand, Lanes& buffer,
                                   unsigned word = 0) {
  const std::uint32_t* lanes = Plain(warp, operand, buffer, word);
  if (!operand.negative && !operand.absolute) return lanes;
  const std::uint32_t keep = operand.absolute ? 0x7fffffffu : 0xffffffffu;
  const std::uint32_t flip = operand.negative ? 0x80000000u : 0;
  for (unsigned i = 0; i < kLanes; ++i) buffer[i] = (lanes[i] & keep) ^ flip;
  return buffer.data();
}

// The bit of each lane in a mask: comparing with these runs on vectors, shifting by a lane's number
// does not.
inline constexpr Lanes kLaneBits = [] {
  Lanes bits;
  for (unsigned i = 0; i < kLanes; ++i) bits[i] = 1u << i;
  return bits;
}();

// One value or the other, by the lane's bit.
inline void Select(std::uint32_t mask, const std::uint32_t* yes, const std::uint32_t* no,
                   std::uint32_t* out) {
  for (unsigned i = 0; i < kLanes; ++i) {
    const std::uint32_t chosen = (mask & kLaneBits[i]) != 0 ? ~0u : 0u;
    out[i] = (yes[i] & chosen) | (no[i] & ~chosen);
  }
}

// The highest bit of each lane.
inline std::uint32_t CollectSigns(const Lanes& lanes) {
  std::uint32_t bits = 0;
#if defined(__SSE2__)
  for (unsigned i = 0; i < kLanes; i += 4) {
    const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes.data() + i));
    bits |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(four))) << i;
  }
#else
  for (unsigned i = 0; i < kLanes; ++i) bits |= lanes[i] >> 31 << i;
#endif
  return bits;
}

inline void Put(Warp& warp, unsigned row, std::uint32_t mask, const Lanes& values) {
  std::uint32_t* to = warp.Row(row);
  if (mask == 0xffffffffu) {
    std::memcpy(to, values.data(), sizeof(Lanes));
    return;
  }
  Select(mask, values.data(), to, to);
}

inline unsigned NextRow(unsigned row) { return row < kFirstRow ? row : row + 1; }

inline void PutPair(Warp& warp, unsigned row, std::uint32_t mask,
                    const std::array<std::uint64_t, kLanes>& values) {
  Lanes low;
  Lanes high;
  for (unsigned i = 0; i < kLanes; ++i) {
    low[i] = static_cast<std::uint32_t>(values[i]);
    high[i] = static_cast<std::uint32_t>(values[i] >> 32);
  }
  Put(warp, row, mask, low);
  Put(warp, NextRow(row), mask, high);
}

// Predicates as one bit a lane.
inline std::uint32_t ReadPredicate(const Warp& warp, const sass::Word& word, unsigned at) {
  const std::uint32_t value = warp.predicate[word.Bits(at, 3)];
  return word.Bit(at + 3) ? ~value : value;
}
inline std::uint32_t ReadUniformPredicate(const Warp& warp, const sass::Word& word, unsigned at) {
  const std::uint32_t value = warp.uniform_predicate[word.Bits(at, 3)];
  return word.Bit(at + 3) ? ~value : value;
}
inline void PutPredicate(Warp& warp, const sass::Word& word, unsigned at, std::uint32_t mask,
                         std::uint32_t value) {
  const auto number = word.Bits(at, 3);
  if (number == sass::kTruePredicate) return;
  warp.predicate[number] = (warp.predicate[number] & ~mask) | (value & mask);
}
inline void PutUniformPredicate(Warp& warp, const sass::Word& word, unsigned at, bool value) {
  const auto number = word.Bits(at, 3);
  if (number != sass::kTruePredicate) warp.uniform_predicate[number] = value ? ~0u : 0u;
}

inline float AsFloat(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t AsBits(float value) { return std::bit_cast<std::uint32_t>(value); }

template <typename Function>
void Map(Warp& warp, const Step& step, std::uint32_t mask, const std::uint32_t* a,
         const std::uint32_t* b, const std::uint32_t* c, Function&& function) {
  Lanes out;
  for (unsigned i = 0; i < kLanes; ++i) out[i] = function(a[i], b[i], c[i]);
  Put(warp, step.target, mask, out);
}

// Applies the function over plain operands.
template <typename Function>
void MapPlain(Warp& warp, const Step& step, std::uint32_t mask, Function&& function) {
  Lanes x;
  Lanes y;
  Lanes z;
  Map(warp, step, mask, Plain(warp, step.a, x), Plain(warp, step.b, y), Plain(warp, step.c, z),
      function);
}

// One bit a lane from a comparison.
template <typename Function>
std::uint32_t Compare(const std::uint32_t* a, const std::uint32_t* b, Function&& function) {
  Lanes flags;
  for (unsigned i = 0; i < kLanes; ++i) flags[i] = function(a[i], b[i]) ? ~0u : 0u;
  return CollectSigns(flags);
}

// How compare instructions combine their outcome with a predicate: and, or, xor.
inline std::uint32_t Combine(std::uint64_t how, std::uint32_t a, std::uint32_t b) {
  return how == 0 ? a & b : how == 1 ? a | b : a ^ b;
}

}  // namespace eidolon::interpret
