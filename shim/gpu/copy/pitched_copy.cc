#include "shim/gpu/copy/pitched_copy.h"

#include <cstdint>

namespace eidolon::shim::gpu {
namespace {

struct Corner {
  std::uintptr_t address = 0;
  std::size_t slice_pitch = 0;
};

bool Fits(std::size_t begin, std::size_t length, std::size_t room) {
  return begin <= room && length <= room - begin;
}

bool Advance(std::uintptr_t& address, std::size_t count, std::size_t step) {
  std::size_t distance = 0;
  return !__builtin_mul_overflow(count, step, &distance) &&
         !__builtin_add_overflow(address, distance, &address);
}

std::optional<Corner> CornerOf(const PitchedSide& side, const CopyBox& box) {
  if (!Fits(side.x, box.width, side.pitch)) return std::nullopt;
  // Where there is one slice, nobody need say how high it is.
  const bool has_slices = box.depth > 1 || side.z > 0;
  if (has_slices && !Fits(side.y, box.height, side.height)) return std::nullopt;
  Corner corner{.address = reinterpret_cast<std::uintptr_t>(side.begin)};
  if (has_slices && __builtin_mul_overflow(side.pitch, side.height, &corner.slice_pitch)) {
    return std::nullopt;
  }
  const bool reached = Advance(corner.address, side.z, corner.slice_pitch) &&
                       Advance(corner.address, side.y, side.pitch) &&
                       Advance(corner.address, side.x, 1);
  if (!reached) return std::nullopt;
  return corner;
}

}  // namespace

std::optional<CopyRequest> MakePitchedCopy(const PitchedSide& target, const PitchedSide& source,
                                           const CopyBox& box) noexcept {
  const auto to = CornerOf(target, box);
  const auto from = CornerOf(source, box);
  if (!to.has_value() || !from.has_value()) return std::nullopt;
  return CopyRequest{.target = reinterpret_cast<void*>(to->address),
                     .source = reinterpret_cast<const void*>(from->address),
                     .shape = {.row_bytes = box.width,
                               .rows = box.height,
                               .slices = box.depth,
                               .target_pitch = target.pitch,
                               .target_slice_pitch = to->slice_pitch,
                               .source_pitch = source.pitch,
                               .source_slice_pitch = from->slice_pitch}};
}

}  // namespace eidolon::shim::gpu
