#include "shim/value/compute/recorded_shape.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kMostThreads = 1 << 19;

}  // namespace

bool IsSmall(const RecordedShape& shape) noexcept {
  // One by one: their product may be more than fits.
  std::uint64_t threads = 1;
  for (const interpret::Dims& dims : {shape.grid, shape.block}) {
    for (const std::uint32_t size : {dims.x, dims.y, dims.z}) {
      threads *= size;
      if (threads > kMostThreads) return false;
    }
  }
  return true;
}

RecordedShape OneRow(RecordedShape shape) noexcept {
  shape.grid.y = 1;
  return shape;
}

}  // namespace eidolon::shim::compute
