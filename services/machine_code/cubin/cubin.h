// Reading a cubin: an ELF file of NVIDIA's machine type. Per kernel it has .text.<name> and an
// attribute list .nv.info.<name>; attributes that the linker settles (registers, stack) are in
// .nv.info.
#pragma once

#include <cstdint>
#include <optional>

#include "services/base/error.h"
#include "services/machine_code/cubin/bytes.h"
#include "services/machine_code/cubin/code.h"

namespace eidolon::cubin {

inline constexpr std::uint32_t kElfMagic = 0x464c457f;  // "\x7f" "ELF", little endian.

// The target's suffix is not in the file and stays kNone.
base::Result<Code> ParseCubin(Bytes bytes);

// Size of the cubin that starts at `start`, from its section and program headers; nothing when it
// is not a cubin. Requires: the file behind `start` is readable as far as its own headers say.
std::optional<std::uint64_t> CubinBytes(const void* start);

}  // namespace eidolon::cubin
