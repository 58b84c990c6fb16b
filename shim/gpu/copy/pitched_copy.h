// Copies of boxes out of larger boxes, as the 2D and 3D calls of both APIs describe them, made into
// one request. All their numbers are the program's, so nothing here may overflow.
#pragma once

#include <cstddef>
#include <optional>

#include "shim/gpu/copy/copy.h"

namespace eidolon::shim::gpu {

inline constexpr std::size_t kPitchMax = 0x7fffffff;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH.

// One side: rows of `pitch` bytes, `height` of them in a slice, and where in them the box begins.
struct PitchedSide {
  const void* begin = nullptr;
  std::size_t pitch = 0;
  std::size_t height = 0;
  std::size_t x = 0;  // In bytes.
  std::size_t y = 0;
  std::size_t z = 0;
};

struct CopyBox {
  std::size_t width = 0;  // In bytes.
  std::size_t height = 1;
  std::size_t depth = 1;
};

// Nothing when the box does not fit into a row or a slice, or lies where no address reaches.
std::optional<CopyRequest> MakePitchedCopy(const PitchedSide& target, const PitchedSide& source,
                                           const CopyBox& box) noexcept;

}  // namespace eidolon::shim::gpu
