// The only source of random numbers. A seed comes in, integers come out, and the same seed gives
// the same sequence everywhere; standard distributions are not used because their results differ.
#pragma once

#include <cstdint>

#include "services/base/hash.h"

namespace eidolon::base {

// SplitMix64 (Steele, Lea, Flood 2014). Not thread safe: give each user its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // A number in [0, bound), by multiplication. Requires: bound > 0.
  std::uint64_t Below(std::uint64_t bound) {
    __extension__ typedef unsigned __int128 Product;
    return static_cast<std::uint64_t>((static_cast<Product>(Next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace eidolon::base
