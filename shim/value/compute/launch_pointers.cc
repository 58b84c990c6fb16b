#include "shim/value/compute/launch_pointers.h"

#include <cstring>

namespace eidolon::shim::compute {

LaunchPointers::LaunchPointers(std::span<const std::byte> parameters, const Arena& arena) {
  for (std::uint32_t at = 0; at + 8 <= parameters.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, parameters.data() + at, 8);
    if (word >= arena.begin && arena.holds(word)) owned_.push_back({at, word});
  }
  list = owned_;
}

std::vector<std::uint32_t> LaunchPointers::Places() const {
  std::vector<std::uint32_t> places;
  for (const PointerWord& pointer : list) places.push_back(pointer.at);
  return places;
}

}  // namespace eidolon::shim::compute
