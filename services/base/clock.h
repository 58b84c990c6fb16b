// The seam to real time. Everything outside base/clock and shim/program/time that needs a real
// clock takes a RealClock; tests pass services/testing/fake_clock.h.
#pragma once

#include <cstdint>

namespace eidolon::base {

// Real (wall) time of the simulating machine, never virtual time. Thread safe.
class RealClock {
 public:
  virtual ~RealClock() = default;
  // Nanoseconds of a monotonic clock with an arbitrary origin.
  virtual std::int64_t MonotonicNs() const = 0;
  // Nanoseconds since 1970-01-01 UTC.
  virtual std::int64_t UnixNs() const = 0;
};

// The operating system's clock.
class SystemClock final : public RealClock {
 public:
  std::int64_t MonotonicNs() const override;
  std::int64_t UnixNs() const override;
};

// Processor time of the calling thread, in nanoseconds.
std::int64_t ThreadCpuNs();

}  // namespace eidolon::base
