// A clock that stands still until a test moves it.
#pragma once

#include <atomic>
#include <cstdint>

#include "services/base/clock.h"

namespace eidolon::testing {

// Thread safe. Both clocks move together; the Unix clock starts at 2026-01-01.
class FakeClock final : public base::RealClock {
 public:
  std::int64_t MonotonicNs() const override { return now_ns_.load(); }
  std::int64_t UnixNs() const override { return kStartUnixNs + now_ns_.load(); }
  void AdvanceNs(std::int64_t ns) { now_ns_ += ns; }
  void AdvanceSeconds(std::int64_t seconds) { now_ns_ += seconds * 1'000'000'000; }

 private:
  static constexpr std::int64_t kStartUnixNs = 1'767'225'600'000'000'000;
  std::atomic<std::int64_t> now_ns_ = 1'000'000'000;
};

}  // namespace eidolon::testing
