// Operations of a GEMM on its result before it is written, by numbers that the ring, the wire and
// profiles share. New ones go to the end.
#pragma once

#include <cstdint>

namespace eidolon::workload {

enum class Epilogue : std::uint32_t {
  kNone,
  kBias,
  kRelu,
  kReluBias,
  kGelu,
  kGeluBias,
  kGeluAux,
  kGeluAuxBias,
  kDRelu,
  kDGelu,
  kDGeluBgrad,
  kBgradA,
  kBgradB,
  kOther,
  kReluAux,
  kReluAuxBias,
  kDReluBgrad,
};
inline constexpr std::uint32_t kEpilogues = 17;

}  // namespace eidolon::workload
