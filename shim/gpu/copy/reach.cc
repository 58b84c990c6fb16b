#include "shim/gpu/copy/reach.h"

#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/memory/memory.h"

namespace eidolon::shim::gpu {
namespace {

bool IsInside(const PointerInfo& info, std::uint64_t address, std::uint64_t bytes) {
  return bytes <= info.bytes - (address - info.begin);
}

// Returns whether registered ranges that follow each other, or plain memory, hold these bytes.
bool HoldsOnHost(const void* pointer, std::uint64_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (address >= kUserSpaceEnd || bytes > kUserSpaceEnd - address) return false;
  if (IsDeviceAddress(address)) return false;  // Of the GPU, but of no allocation.
  if (address < kArenaBegin && bytes > kArenaBegin - address) return false;
  return HoldsHostBytes(pointer, bytes);
}

}  // namespace

bool HoldsBytes(const PointerInfo& info, const void* pointer, std::uint64_t bytes) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  switch (info.kind) {
    case PointerKind::kUnregistered:
      return HoldsOnHost(pointer, bytes);
    case PointerKind::kDevice:
      return IsInside(info, address, bytes) || HoldsMappings(address, bytes);
    case PointerKind::kHost:
      return IsInside(info, address, bytes) || HoldsOnHost(pointer, bytes);
    case PointerKind::kManaged:
      return IsInside(info, address, bytes);
  }
  return false;
}

std::optional<std::uint64_t> BytesOf(const Rows& rows) noexcept {
  if (rows.row_bytes == 0 || rows.rows == 0 || rows.slices == 0) return 0;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(rows.row_bytes, rows.rows, &bytes)) return std::nullopt;
  if (__builtin_mul_overflow(bytes, rows.slices, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<std::uint64_t> SpanOf(const Rows& rows) noexcept {
  std::uint64_t slice = rows.row_bytes;
  if (rows.rows > 1) {
    if (rows.pitch < rows.row_bytes) return std::nullopt;
    if (__builtin_mul_overflow(rows.rows - 1, rows.pitch, &slice)) return std::nullopt;
    if (__builtin_add_overflow(slice, rows.row_bytes, &slice)) return std::nullopt;
  }
  if (rows.slices == 1) return slice;
  if (rows.slice_pitch < slice) return std::nullopt;
  std::uint64_t span = 0;
  if (__builtin_mul_overflow(rows.slices - 1, rows.slice_pitch, &span)) return std::nullopt;
  if (__builtin_add_overflow(span, slice, &span)) return std::nullopt;
  return span;
}

}  // namespace eidolon::shim::gpu
