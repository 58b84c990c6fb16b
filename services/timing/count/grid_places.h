// Locates the blocks of a grid: their numbers, x first, and their places along the three sides. A
// value; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace eidolon::timing::count {

class GridPlaces {
 public:
  explicit GridPlaces(const std::array<std::uint64_t, 3>& sides) : sides_(sides) {}

  std::uint64_t IndexOf(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
    return x + sides_[0] * (y + sides_[1] * z);
  }
  std::uint64_t StepsOf(unsigned side) const { return sides_[side]; }
  // Blocks in a row that lie at the same place of a side.
  std::uint64_t PeriodOf(unsigned side) const {
    return side == 0 ? 1 : side == 1 ? sides_[0] : sides_[0] * sides_[1];
  }
  std::uint64_t PlaceOf(std::uint64_t block, unsigned side) const {
    return block / PeriodOf(side) % sides_[side];
  }
  // The only side along which two blocks lie at different places.
  std::optional<unsigned> SideBetween(std::uint64_t one, std::uint64_t other) const {
    std::optional<unsigned> between;
    for (unsigned side = 0; side < sides_.size(); ++side) {
      if (PlaceOf(one, side) == PlaceOf(other, side)) continue;
      if (between) return std::nullopt;
      between = side;
    }
    return between;
  }

 private:
  std::array<std::uint64_t, 3> sides_;
};

}  // namespace eidolon::timing::count
