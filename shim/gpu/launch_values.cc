#include "shim/gpu/launch_values.h"

#include <utility>

#include "shim/compute/launch.h"
#include "shim/gpu/arena.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

interpret::Dims ToDims(const ring::Dim3& dims) { return {dims.x, dims.y, dims.z}; }

compute::RecordedShape ToRecorded(const LaunchShape& shape) {
  return {.grid = ToDims(shape.grid),
          .block = ToDims(shape.block),
          .dynamic_shared_bytes = static_cast<std::uint32_t>(shape.dynamic_shared_bytes),
          .cooperative = shape.cooperative};
}

}  // namespace

bool MustRecord(const LaunchShape& shape) noexcept {
  if (!compute::IsOn()) return false;
  return compute::IsSmall(ToRecorded(shape)) || value::ProcessPending().has_deferred();
}

void RecordLaunch(const Kernel& kernel, const LaunchShape& shape, std::uint32_t work,
                  std::vector<std::byte> parameters) {
  compute::Record({.image = kernel.library->image(),
                   .name = kernel.name,
                   .variables_set = kernel.library->has_used_variables()},
                  ToRecorded(shape), work, std::move(parameters), HoldsDeviceAddress);
}

}  // namespace eidolon::shim::gpu
