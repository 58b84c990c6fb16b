// Measures how long nothing of a server has moved: no record, no outstanding answer, no processor
// and no disk that its processes use. Pure; the owner says what moves.
#pragma once

#include <algorithm>
#include <cstdint>

namespace eidolon::agent::clock {

// This class is not thread-safe. Times are monotonic nanoseconds.
class Standstill {
 public:
  explicit Standstill(std::int64_t now_ns) : last_ns_(now_ns) {}

  void Move() { still_ns_ = 0; }

  // Call often. Of a longer step only kLongestStepNs count: then the owner itself was kept from
  // running, and has neither seen nor forwarded anything that moved.
  void Pass(std::int64_t now_ns) {
    still_ns_ += std::clamp<std::int64_t>(now_ns - last_ns_, 0, kLongestStepNs);
    last_ns_ = now_ns;
  }

  std::int64_t still_ns() const { return still_ns_; }

 private:
  static constexpr std::int64_t kLongestStepNs = 100'000'000;

  std::int64_t last_ns_;
  std::int64_t still_ns_ = 0;
};

}  // namespace eidolon::agent::clock
