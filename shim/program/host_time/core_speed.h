// Measures the present speed of the cores that a process runs on: the threads whose work is timed
// run the probe and the arithmetic of services/base/host_speed now and then, on their core and
// beside the same neighbours. A sibling hardware thread at work, a lower frequency and stolen time
// make them slower as they make the program slower, and are divided out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "services/base/host_speed/probe.h"

namespace eidolon::shim::host_time {

// Thread safe; one per process. Speeds are relative to the reference processor (probe.h).
class CoreSpeed {
 public:
  // Each times one run, in picoseconds of the calling thread's processor time.
  struct Timers {
    std::uint64_t (*probe)(host_speed::Probe& probe) = nullptr;
    std::uint64_t (*arithmetic)() = nullptr;
  };
  explicit CoreSpeed(const Timers& timers) : timers_(timers) {}

  // Times both kRuns times; their medians count. More runs would find the probe's own code
  // warm as the program's never is. Does nothing while another thread does so.
  void Sample() noexcept;

  // The medians of the last kKept samples, 1 before the first: of what a framework does between two
  // calls, and of arithmetic.
  double now() const noexcept { return between_calls_.now(); }
  double of_arithmetic() const noexcept { return arithmetic_.now(); }

  // Fewer than kKept samples were taken so far: the next ones are due sooner.
  bool IsNew() const noexcept { return is_new_.load(std::memory_order_relaxed); }

  static constexpr int kRuns = 3;
  static constexpr std::size_t kKept = 7;

 private:
  // The last samples and their median. Added to under the lock, asked by anyone.
  class Median {
   public:
    void Add(double speed) noexcept;
    double now() const noexcept { return now_.load(std::memory_order_relaxed); }
    std::size_t samples() const noexcept { return samples_; }

   private:
    std::array<double, kKept> last_{};
    std::size_t samples_ = 0;
    std::atomic<double> now_{1.0};
  };

  const Timers timers_;
  std::mutex sampling_;
  host_speed::Probe probe_;  // Guarded by sampling_.
  Median between_calls_;
  Median arithmetic_;
  std::atomic<bool> is_new_{true};
};

}  // namespace eidolon::shim::host_time
