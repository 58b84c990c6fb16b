// Virtual time: integer picoseconds since the start of a simulation job. 64 bits hold 106 days.
// There is no floating-point clock; Seconds() is for printing and for formulas that end in a
// Duration.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace eidolon::base {

// a + b, or the nearest number that there is: sums of what programs say never change their sign.
constexpr std::int64_t AddWithinRange(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

// A span of virtual time in picoseconds.
struct Duration {
  std::int64_t ps = 0;

  auto operator<=>(const Duration&) const = default;
  constexpr Duration& operator+=(Duration other) {
    ps = AddWithinRange(ps, other.ps);
    return *this;
  }
  constexpr Duration& operator-=(Duration other) {
    ps -= other.ps;
    return *this;
  }
  constexpr double Seconds() const { return static_cast<double>(ps) * 1e-12; }

  static constexpr Duration Picoseconds(std::int64_t value) { return {value}; }
  static constexpr Duration Nanoseconds(std::int64_t value) { return {value * 1'000}; }
  static constexpr Duration Microseconds(std::int64_t value) { return {value * 1'000'000}; }
  static constexpr Duration Milliseconds(std::int64_t value) { return {value * 1'000'000'000}; }
  // Rounds to the nearest picosecond. Requires: 0 <= seconds < 9e6.
  static constexpr Duration FromSeconds(double seconds) {
    return {static_cast<std::int64_t>(seconds * 1e12 + 0.5)};
  }
};

constexpr Duration operator+(Duration a, Duration b) { return {AddWithinRange(a.ps, b.ps)}; }
constexpr Duration operator-(Duration a, Duration b) { return {a.ps - b.ps}; }
constexpr Duration operator*(Duration a, std::int64_t n) { return {a.ps * n}; }

// A point of virtual time.
struct SimTime {
  std::int64_t ps = 0;

  auto operator<=>(const SimTime&) const = default;
  constexpr SimTime& operator+=(Duration other) {
    ps = AddWithinRange(ps, other.ps);
    return *this;
  }
  constexpr double Seconds() const { return static_cast<double>(ps) * 1e-12; }

  // Later than every time of a simulation.
  static constexpr SimTime Max() { return {std::numeric_limits<std::int64_t>::max()}; }
};

constexpr SimTime operator+(SimTime t, Duration d) { return {AddWithinRange(t.ps, d.ps)}; }
constexpr SimTime operator-(SimTime t, Duration d) { return {t.ps - d.ps}; }
constexpr Duration operator-(SimTime a, SimTime b) { return {a.ps - b.ps}; }

__extension__ typedef unsigned __int128 Wide;  // Products of two 64-bit numbers.

// The time `bytes` take at `bytes_per_second`, rounded up to a picosecond, at most all time.
// Requires: bytes_per_second > 0.
constexpr Duration TransferTime(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  const auto exact = static_cast<Wide>(bytes) * 1'000'000'000'000u;
  const Wide ps = (exact + bytes_per_second - 1) / bytes_per_second;
  const auto longest = static_cast<Wide>(SimTime::Max().ps);
  return {static_cast<std::int64_t>(ps < longest ? ps : longest)};
}

}  // namespace eidolon::base
