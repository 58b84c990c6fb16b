// The activity record of an operation that ran on a device: CUpti_ActivityKernel11, Memcpy6,
// MemcpyPtoP4 or Memset4. Stateless.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/contract/ring/activity.h"
#include "shim/vendor/cupti/buffer_writer.h"
#include "shim/vendor/cupti/issued_work.h"

namespace eidolon::shim::cupti {

// Returns numbers as records have them: streams from 7 (the legacy default stream), contexts from
// 1.
std::uint32_t StreamNumber(std::uint32_t ring_stream);
std::uint32_t ContextNumber(std::uint32_t ordinal);
// The visible device of a ring's device number.
std::uint32_t OrdinalOf(std::uint16_t ring_device);

// Time when it ran, in the clock of the program's records.
struct RunTime {
  std::uint64_t begin;
  std::uint64_t end;
};

// Returns what an operation executes: of a graph's launch the node, else the work that was issued;
// empty for collectives.
std::span<const std::byte> DefinitionOf(const IssuedWork& work,
                                        const ring::CompletedOperation& operation);

// Adds the record when its kind is enabled. Grid and block of a GEMM are those of 128 x 128 tiles
// with 256 threads, as the device engine takes them to fill the GPU; those of graphs of cuDNN and
// of other library calls are a block of 256 threads for each multiprocessor; of NCCL's kernels a
// block of 512 threads for each channel.
void AddDeviceRecord(const IssuedWork& work, const ring::CompletedOperation& operation,
                     const RunTime& time, RecordGroup* group);

}  // namespace eidolon::shim::cupti
