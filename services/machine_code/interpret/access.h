// Checked reading and writing of the memories a lane can reach.
#pragma once

#include <cstdint>
#include <cstring>

#include "services/machine_code/interpret/lanes.h"

namespace eidolon::interpret {

// Space to which an address leads.
enum class Space : std::uint8_t { kGlobal, kShared, kLocal };
struct Place {
  Space space = Space::kGlobal;
  std::uint64_t address = 0;
};

// Returns what a generic address means.
inline Place PlaceOfGeneric(std::uint64_t address) {
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 32;
  if (address - kSharedWindow < kWindow)
    return {Space::kShared, (address - kSharedWindow) & 0xffffff};
  if (address - kLocalWindow < kWindow) return {Space::kLocal, address - kLocalWindow};
  return {Space::kGlobal, address};
}

// Bits [offset, offset + size) of a page's map. Requires: aligned to size, a power of 2 up to 64.
inline std::uint64_t MaskOf(std::uint64_t offset, unsigned size) {
  return ((std::uint64_t{1} << size) - 1) << (offset % 64);
}

// `size` bytes at the place, which is aligned to it; nullptr ends the launch. `writes`: marks them
// written and known. `reads`: they must be known, unless the launch tracks what is not.
inline std::byte* Reach(Warp& warp, unsigned lane, Place place, unsigned size, bool reads,
                        bool writes) {
  LaunchState& launch = *warp.launch;
  warp.touched_memory = true;
  if (place.address % size != 0) {
    launch.End(Stop::kFault, place.address);
    return nullptr;
  }
  if (place.space == Space::kGlobal) {
    Page* page = launch.PageOf(place.address);
    if (page == nullptr) {
      launch.End(Stop::kFault, place.address);
      return nullptr;
    }
    const std::uint64_t offset = place.address % kPageBytes;
    const std::uint64_t bits = MaskOf(offset, size);
    const std::size_t word = offset / 64;
    if (reads) {
      if ((page->known[word] & bits) != bits && !launch.tracks_unknown) {
        launch.End(Stop::kUnknownRead, place.address);
        return nullptr;
      }
      page->read[word] |= bits & ~page->written[word];
    }
    if (writes) {
      page->written[word] |= bits;
      page->known[word] |= bits;
    }
    return page->bytes.data() + offset;
  }
  Block& block = *warp.block;
  if (place.space == Space::kShared) {
    if (place.address < launch.shared_begin || place.address + size > block.shared.size()) {
      launch.End(Stop::kFault, place.address);
      return nullptr;
    }
    return block.shared.data() + place.address;
  }
  if (place.address + size > launch.local_bytes) {
    launch.End(Stop::kFault, place.address);
    return nullptr;
  }
  return block.local.data() + std::uint64_t{warp.first_thread + lane} * launch.local_bytes +
         place.address;
}

// The address operand of a global access, by lane. `uniform_at`: where the uniform register's
// number is.
struct GlobalAddress {
  const std::uint32_t* low;
  const std::uint32_t* high;
  std::uint64_t base;

  GlobalAddress(Warp& warp, const Step& step, unsigned uniform_at)
      : low(nullptr), high(nullptr), base(static_cast<std::uint64_t>(step.offset)) {
    const unsigned row = SourceRow(step.word.Bits(24, 8));
    low = warp.Row(row);
    high = step.narrow ? warp.Row(kZeroRow) : warp.Row(row == kZeroRow ? row : row + 1);
    const std::uint32_t uniform = UniformIn(step, uniform_at);
    if (step.word.Bit(91) && !step.descriptor && uniform != sass::kZeroUniform) {
      base += warp.uniform[uniform] | std::uint64_t{warp.uniform[uniform + 1]} << 32;
    }
  }
  std::uint64_t operator[](unsigned lane) const {
    return (std::uint64_t{high[lane]} << 32 | low[lane]) + base;
  }
};

// The address operand of a shared or local access.
struct NearAddress {
  const std::uint32_t* low;
  std::uint32_t base;
  unsigned shift;

  NearAddress(Warp& warp, const Step& step, unsigned uniform_at, bool scaled)
      : low(warp.Row(SourceRow(step.word.Bits(24, 8)))),
        base(static_cast<std::uint32_t>(step.word.Signed(40, 24))),
        shift(0) {
    const sass::Word& word = step.word;
    if (scaled && word.Bits(78, 2) != 0) shift = static_cast<unsigned>(word.Bits(78, 2)) + 1;
    const std::uint32_t uniform = UniformIn(step, uniform_at);
    if (word.Bit(91) && uniform != sass::kZeroUniform) base += warp.uniform[uniform];
  }
  std::uint32_t operator[](unsigned lane) const { return (low[lane] << shift) + base; }
};

}  // namespace eidolon::interpret
