// How often long work is met before the calls of a program, by places: where it is rare, something
// interrupted the program there (a garbage collection, a fork, a compilation), and where it is not,
// the program computes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eidolon::shim::host_time {

// One thread's, by places of CallHistory. Not shared. Fixed size, 64 KiB; places that meet in it
// forget each other.
class LongWork {
 public:
  void NoteShort(std::uint64_t place) noexcept { Count(Find(place).shorts, place); }
  // Whether long work is rare here, including this once; the first times it is not.
  bool NoteLong(std::uint64_t place) noexcept {
    Place& found = Find(place);
    Count(found.longs, place);
    return found.longs * kRare < found.shorts;
  }

  // Work is rare that is long once in so many times.
  static constexpr unsigned kRare = 16;

 private:
  struct Place {
    std::uint16_t tag = 0;
    std::uint8_t shorts = 0, longs = 0;
  };
  static constexpr std::size_t kPlaces = 16384;
  static constexpr std::uint8_t kMost = 240;

  Place& Find(std::uint64_t place) noexcept {
    Place& found = places_[(place >> 8) % kPlaces];
    const auto tag = static_cast<std::uint16_t>(place >> 48);
    if (found.tag != tag) found = {.tag = tag};
    return found;
  }
  // Halves both when one is full: what was long ago counts less.
  void Count(std::uint8_t& number, std::uint64_t place) noexcept {
    if (++number < kMost) return;
    Place& found = places_[(place >> 8) % kPlaces];
    found.shorts /= 2;
    found.longs /= 2;
  }

  std::array<Place, kPlaces> places_{};
};

}  // namespace eidolon::shim::host_time
