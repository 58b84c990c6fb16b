// Translates kernels that cannot be run, so that FindStores can follow their addresses: kernels
// with matrix instructions of warp groups, barriers in shared memory and bulk loads.
//
// An instruction without a handler is accepted only where it is certain which registers and
// predicates it writes, and that it writes no global memory. Any other one makes the kernel
// refused. Code for compute capability 9.0 only.
#pragma once

#include <cstddef>
#include <span>

#include "services/base/error.h"
#include "services/machine_code/interpret/data_use.h"
#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// Fills the program as Translate does; it must not be run. kUnsupported names the first instruction
// that cannot be followed; then the program must not be followed either.
base::Result<void> TranslateToFollow(std::span<const std::byte> code, Program& program);

// As UseOf; also for the instructions that only such a translation has, whose use is opaque.
DataUse FollowedUseOf(const Step& step);

}  // namespace eidolon::interpret
