// Memories between which a copy runs. The numbers are those of definitions.
#pragma once

#include <cstdint>

namespace eidolon::workload {

enum class CopyKind : std::uint32_t {
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kPeer,
  kHostToHost,
  kMemset,
  kUnspecified = 0xffffffff,  // Not set: no checked definition has it.
};

}  // namespace eidolon::workload
