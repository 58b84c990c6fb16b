// Which registers and predicates an instruction reads and writes, as far as it computes: read off
// its form. Addresses of memory accesses are not among them.
#pragma once

#include <array>
#include <cstdint>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// Registers and uniform registers in one numbering.
inline constexpr std::uint16_t kUniformPlace = 256;
inline constexpr std::uint16_t kPlaces = 256 + 256;
inline constexpr std::uint16_t kNowhere = 0xffff;

constexpr std::uint16_t PlaceOfRegister(std::uint64_t number) {
  return number == sass::kZeroRegister ? kNowhere : static_cast<std::uint16_t>(number);
}
constexpr std::uint16_t PlaceOfUniform(std::uint64_t number) {
  return number == sass::kZeroUniform ? kNowhere
                                      : static_cast<std::uint16_t>(number + kUniformPlace);
}

struct DataSource {
  enum class Kind : std::uint8_t { kPlace, kFixed, kConstant };
  Kind kind = Kind::kFixed;
  char slot = 0;  // a, B, C as in the form's text.
  bool negative = false;
  std::uint16_t place = kNowhere;  // kPlace; kNowhere: zero.
  std::uint32_t number = 0;        // kFixed: the value; kConstant: the offset.
  std::uint32_t bank = 0;          // kConstant.
};

struct DataUse {
  std::array<DataSource, 4> sources;
  unsigned source_count = 0;
  std::uint16_t target = kNowhere;
  unsigned words = 1;                      // Of the target.
  std::uint16_t second_target = kNowhere;  // As many words.
  // A bit for each predicate; uniform ones from bit 8 on. The one that is always true is left out.
  std::uint16_t predicates_read = 0;
  std::uint16_t predicates_written = 0;
  // It is not run (outline.h): its results are data, and a place that it writes may stay as it is.
  bool opaque = false;
  bool loads_into_shared = false;  // Opaque: from global memory.
};

DataUse UseOf(const Step& step);

// The guard's bit, 0 for none.
std::uint16_t GuardOf(const Step& step);

}  // namespace eidolon::interpret
