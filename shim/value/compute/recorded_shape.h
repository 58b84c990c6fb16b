// The dimensions of a recorded launch, and which launches are few enough threads to be run.
#pragma once

#include <cstdint>

#include "services/machine_code/interpret/run.h"

namespace eidolon::shim::compute {

struct RecordedShape {
  interpret::Dims grid;
  interpret::Dims block;
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
};

// Worth running: few threads. Decided before anything is known about the kernel.
bool IsSmall(const RecordedShape& shape) noexcept;
// Returns the relevant shape of the launch of a kernel that joins tensors: as many threads for each
// of them as would fill the GPU, however few bytes there are.
RecordedShape OneRow(RecordedShape shape) noexcept;

}  // namespace eidolon::shim::compute
