// How fast the cores that a process runs on are now: the probe of
// services/host_speed, run now and then by the threads whose work is timed, on their core and
// beside the same neighbours. A sibling hardware thread at work, a lower frequency and stolen time
// make the probe slower as they make the program slower, and are divided out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "services/host_speed/probe.h"

namespace eidolon::shim::host_time {

// Thread safe; one per process. Speeds are relative to the reference processor (probe.h).
class CoreSpeed {
 public:
  // Times one run of the probe, in picoseconds of the calling thread's processor time.
  using Timer = std::uint64_t (*)(host_speed::Probe& probe);
  explicit CoreSpeed(Timer timer) : timer_(timer) {}

  // Times the probe kRuns times; their median counts. More runs would find the probe's own code
  // warm as the program's never is. Does nothing while another thread does so.
  void Sample() noexcept;

  // The median of the last kKept samples; 1 before the first.
  double now() const noexcept { return now_.load(std::memory_order_relaxed); }

  // Fewer than kKept samples were taken so far: the next ones are due sooner.
  bool IsNew() const noexcept { return is_new_.load(std::memory_order_relaxed); }

  static constexpr int kRuns = 3;
  static constexpr std::size_t kKept = 7;

 private:
  const Timer timer_;
  std::mutex sampling_;  // Guards the members below, up to the atomics.
  host_speed::Probe probe_;
  std::array<double, kKept> last_{};
  std::size_t samples_ = 0;
  std::atomic<double> now_{1.0};
  std::atomic<bool> is_new_{true};
};

}  // namespace eidolon::shim::host_time
