// Which GPUs a piece of device code runs on: an architecture number with an optional suffix, and
// the rule by which the driver matches it with a device's compute capability.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace eidolon::cubin {

// A device's compute capability: {9, 0} is 90.
struct Capability {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  auto operator<=>(const Capability&) const = default;
  constexpr std::uint32_t number() const { return major * 10 + minor; }
};

// "a" code uses features of one architecture; "f" code those of a family; order is preference.
enum class Suffix : std::uint32_t { kNone = 0, kFamily = 1, kSpecific = 2 };

// What code was compiled for: {90, kSpecific} is sm_90a.
struct Target {
  std::uint32_t architecture = 0;
  Suffix suffix = Suffix::kNone;
  auto operator<=>(const Target&) const = default;
};

// "sm_90a".
std::string Name(Target target);

// Machine code runs on its own architecture and on later minors of the same major; family code the
// same; specific code only on its own.
bool CubinRuns(Target target, Capability device);

// PTX can be compiled for its own architecture and every later one; with a suffix as machine code.
bool PtxRuns(Target target, Capability device);

}  // namespace eidolon::cubin
