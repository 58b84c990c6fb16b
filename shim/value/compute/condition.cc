#include "shim/value/compute/condition.h"

#include <algorithm>
#include <cstring>

namespace eidolon::shim::compute {
namespace {

std::uint32_t WordAt(std::span<const std::byte> parameters, std::size_t at) {
  std::uint32_t word = 0;
  if (at >= parameters.size()) return word;
  std::memcpy(&word, parameters.data() + at, std::min<std::size_t>(4, parameters.size() - at));
  return word;
}

}  // namespace

Condition::Condition(std::span<const std::byte> parameters, std::span<const std::uint8_t> read,
                     std::span<const std::uint32_t> places) {
  auto place = places.begin();
  for (std::uint32_t at = 0; at < parameters.size(); at += 4) {
    while (place != places.end() && *place + 8 <= at) ++place;
    const bool in_pointer = place != places.end() && *place <= at;
    if (in_pointer) {
      if (*place == at) words_.push_back({at, 0xff, WordAt(parameters, at) & 0xff});
    } else if (at / 4 < read.size() && read[at / 4] != 0) {
      words_.push_back({at, ~0u, WordAt(parameters, at)});
    }
  }
}

bool Condition::Holds(std::span<const std::byte> parameters) const {
  return std::ranges::all_of(words_, [&](const Word& word) {
    return (WordAt(parameters, word.at) & word.mask) == word.value;
  });
}

}  // namespace eidolon::shim::compute
