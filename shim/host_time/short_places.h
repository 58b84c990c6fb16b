// Places of a program before which little work was met: where there is a lot of it once, something
// interrupted the program there (a garbage collection, a fork, a compilation).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eidolon::shim::host_time {

// One thread's, by places of CallHistory. Not shared. Of several thousand places a few hundredths
// are taken for others that were noted: then work that recurs counts as an interruption.
class ShortPlaces {
 public:
  void Note(std::uint64_t place) noexcept { words_[WordOf(place)] |= BitOf(place); }
  bool Has(std::uint64_t place) const noexcept {
    return (words_[WordOf(place)] & BitOf(place)) != 0;
  }

 private:
  static constexpr std::size_t kWords = 4096;  // 32 KiB.
  // Places have mixed bits, of which the lowest tell their kind.
  static std::size_t WordOf(std::uint64_t place) noexcept { return (place >> 16) % kWords; }
  static std::uint64_t BitOf(std::uint64_t place) noexcept {
    return std::uint64_t{1} << ((place >> 8) % 64);
  }

  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace eidolon::shim::host_time
