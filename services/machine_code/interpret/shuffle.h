// SHFL gives each lane the value of another one; this says which.
#pragma once

#include <array>
#include <cstdint>

#include "services/machine_code/interpret/warp.h"

namespace eidolon::interpret {

struct Shuffle {
  std::array<std::uint8_t, kLanes> from;
  std::uint32_t inside =
      0;  // Lanes whose source lies in their segment; others get their own value.

  // `lanes`, `bounds`: the registers that are read where the word has no fixed numbers.
  Shuffle(const sass::Word& word, const std::uint32_t* lanes, const std::uint32_t* bounds);
};

inline bool ShufflesByRegister(const sass::Word& word) {
  const std::uint32_t form = sass::FormOf(word);
  return form != 4 && form != 7;
}
inline bool IsShuffleBoundByRegister(const sass::Word& word) {
  const std::uint32_t form = sass::FormOf(word);
  return form != 2 && form != 7;
}

}  // namespace eidolon::interpret
