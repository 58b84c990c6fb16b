// Launches whose values are computed: recorded with their parameters, and run by the interpreter
// only when somebody looks at memory that they may have written.
//
// A launch that reads an unknown byte, or is too large, or is refused or stopped, makes what it
// may have written unknown (footprint.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "services/machine_code/cubin/target.h"
#include "services/machine_code/interpret/run.h"
#include "shim/value/compute/footprint.h"
#include "shim/value/compute/machine_code.h"
#include "shim/value/compute/recorded_shape.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {

struct RecordedKernel {
  const void* image = nullptr;            // Fat binary or cubin; stays readable.
  std::string_view name;                  // Lives as long.
  cubin::Capability device;               // Whose code it is.
  const ShownVariables* shown = nullptr;  // Of its module, on its device; stays as it is.
  bool writes_first_only = false;         // Of its pointers.
  bool joins_tensors = false;             // Each by a row of blocks, most of which may be idle.
  // The targets of its pointers alone count as written if the kernel is not run.
  bool writes_its_buffers_only = false;
};

// True when the job's `values:` ask for it.
bool IsOn() noexcept;

// A word of a parameter block that is a number to compute with.
struct NumberWord {
  std::uint32_t at;  // Offset in the block.
  std::uint32_t value;
};

struct RecordedParameters {
  // As the device reads them, but for what follows; zeros that fill the last word may be missing.
  std::span<const std::byte> block;
  std::span<const PointerWord> pointers;  // Into emulated memory, in order.
  std::span<const NumberWord> numbers{};  // Taken out of the block.
  bool block_stays = false;               // Readable for good: it is not copied.
};

// Puts the launch into the order of value operations. `work`: the same for launches that differ in
// pointers and numbers only. Pointers may be blanked in the block, but for their lowest bytes.
void Record(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
            const RecordedParameters& parameters, const Arena& arena);
// The same as work, for a queue of the caller's.
std::unique_ptr<value::Deferred> AsDeferred(const RecordedKernel& kernel,
                                            const RecordedShape& shape, std::uint32_t work,
                                            const RecordedParameters& parameters,
                                            const Arena& arena);

}  // namespace eidolon::shim::compute
