// Launches as the plane of values sees them: recorded to be run when somebody needs their results,
// or only as something that may have changed memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/module/module.h"
#include "shim/value/compute/launch.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {

// True when launches must be recorded.
bool MustRecord() noexcept;

// Where values are off, launches of so few threads are recorded and run all the same when they lead
// to known bytes. Object collectives need it: torch.distributed joins and compares the sizes of
// pickled objects on the GPU, and a size that nobody knows ends the program.
bool IsTiny(const Kernel& kernel, const LaunchShape& shape) noexcept;
// True when bytes near the pointer may be known, or may become so once results have arrived.
bool MayLeadToValue(std::uint64_t pointer) noexcept;

// Otherwise: the launch may have written wherever its pointers lead. Not thread safe.
class LaunchNote {
 public:
  explicit LaunchNote(const Kernel& kernel) : kernel_(kernel) {}
  // The launch's next pointer.
  void Add(std::uint64_t pointer);

 private:
  const Kernel& kernel_;
  value::Origin origin_;
  std::uint32_t count_ = 0;
};

// Requires: MustRecord, or IsTiny. Without MustRecord the launch is run at once, if it can be.
void RecordLaunch(const Kernel& kernel, int device, const LaunchShape& shape, std::uint32_t work,
                  const compute::RecordedParameters& parameters);
// The same with parameters as the device reads them, which are copied.
void RecordLaunch(const Kernel& kernel, int device, const LaunchShape& shape, std::uint32_t work,
                  std::span<const std::byte> parameters);

}  // namespace eidolon::shim::gpu
