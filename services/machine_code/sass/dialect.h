// The encodings of machine code that are known. All use words of 128 bits and share most of them;
// what differs is in forms_80.cc and forms_100.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace eidolon::sass {

// Compute capabilities 8.0 to 8.9, 9.0, 10.0 to 10.3.
enum class Dialect : std::uint8_t { k80, k90, k100 };
inline constexpr std::size_t kDialects = 3;

// Returns the dialect of the code for an architecture (90 for 9.0); nullopt for one that cannot be
// read.
constexpr std::optional<Dialect> DialectOf(std::uint32_t architecture) {
  switch (architecture) {
    case 80:
    case 86:
    case 87:
    case 89:
      return Dialect::k80;
    case 90:
      return Dialect::k90;
    case 100:
    case 103:
      return Dialect::k100;
    default:
      return std::nullopt;
  }
}

}  // namespace eidolon::sass
