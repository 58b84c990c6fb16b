#include "services/machine_code/interpret/shuffle.h"

namespace eidolon::interpret {

// Bits 8 to 12 of the bounds say which bits of a lane's number stay (its segment), the lowest five
// the last lane inside of it. A source outside gives the lane's own value.
Shuffle::Shuffle(const sass::Word& word, const std::uint32_t* lanes, const std::uint32_t* bounds) {
  const bool fixed_lane = !ShufflesByRegister(word);
  const bool fixed_bounds = !IsShuffleBoundByRegister(word);
  const std::uint64_t mode = word.Bits(58, 2);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto by = static_cast<std::int32_t>(
        (fixed_lane ? static_cast<std::uint32_t>(word.Bits(53, 5)) : lanes[lane]) & 31);
    const std::uint32_t bound =
        fixed_bounds ? static_cast<std::uint32_t>(word.Bits(40, 13)) : bounds[lane];
    const std::uint32_t segment = bound >> 8 & 31;
    const auto last = static_cast<std::int32_t>((lane & segment) | (bound & 31 & ~segment));
    const auto self = static_cast<std::int32_t>(lane);
    std::int32_t source = self;
    bool good = false;
    switch (mode) {
      case 0:
        source = static_cast<std::int32_t>((lane & segment) |
                                           (static_cast<std::uint32_t>(by) & ~segment));
        good = source <= last;
        break;
      case 1:
        source = self - by;
        good = source >= last;
        break;
      case 2:
        source = self + by;
        good = source <= last;
        break;
      default:
        source = self ^ by;
        good = source <= last;
        break;
    }
    from[lane] = static_cast<std::uint8_t>(good ? source & 31 : self);
    inside |= std::uint32_t{good} << lane;
  }
}

}  // namespace eidolon::interpret
