// Checks that the bytes that a call names are all there, as the driver does before it takes a copy
// or a memset. Kernels are not asked this; what they touch is known only when they run.
//
//   device memory      inside one allocation, or mappings of the virtual-memory API without a gap
//   page-locked        inside one allocation, or registered ranges without a gap
//   managed            inside one allocation
//   plain host memory  in the address space, and nothing of the above in it: the driver refuses a
//                      range of which only a part is registered
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/gpu/allocation/pointer.h"

namespace eidolon::shim::gpu {

// Requires: info is Inspect(pointer), and bytes > 0.
bool HoldsBytes(const PointerInfo& info, const void* pointer, std::uint64_t bytes) noexcept;

// Rows of bytes at equal distances, in slices at equal distances. Distances do not matter where
// there is one row or one slice.
struct Rows {
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t slices = 1;
  std::uint64_t pitch = 0;
  std::uint64_t slice_pitch = 0;
};

// The bytes of all rows; nothing when they are more than 64 bits can count.
std::optional<std::uint64_t> BytesOf(const Rows& rows) noexcept;

// The bytes from the first to behind the last. Nothing when 64 bits cannot count them, or when rows
// or slices overlap. Requires: BytesOf(rows) is above 0.
std::optional<std::uint64_t> SpanOf(const Rows& rows) noexcept;

}  // namespace eidolon::shim::gpu
