// Random delays of the host that the job asks for: what the operating system, a daemon or a
// neighbour takes from a rank of a real cluster now and then. They fall into host work at random
// moments, with a mean rate, and are what makes ranks that do the same differ.
//
// The same seed and the same host work give the same delays on every machine: numbers come from
// base::Random and are made exponential by additions and comparisons alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "services/base/random.h"

namespace eidolon::shim::host_time {

// Draws from the exponential distribution of mean 1 (Ahrens and Dieter, Computer Methods for
// Sampling from the Exponential and Normal Distributions, 1972, algorithm SA).
double DrawExponential(base::Random& random) noexcept;

// Thread safe; one per process.
class Jitter {
 public:
  struct Options {
    double per_second = 0;        // Mean rate in host work.
    std::uint64_t length_ps = 0;  // Mean length.
    bool exponential = false;     // Lengths are drawn, too; else all are alike.
    std::uint64_t seed = 0;
  };
  // Requires: per_second > 0.
  explicit Jitter(const Options& options) noexcept;

  // `work_ps` more host work was done: the sum of the delays that fall into it, in picoseconds.
  std::uint64_t DelaysIn(std::uint64_t work_ps) noexcept;

 private:
  std::uint64_t DrawGap() noexcept;
  std::uint64_t DrawLength() noexcept;

  const Options options_;
  std::atomic<std::uint64_t> worked_ps_{0};
  std::atomic<std::uint64_t> next_ps_{0};  // The next delay begins when so much work was done.
  std::mutex drawing_;                     // Guards what follows, and changes of next_ps_.
  base::Random random_;
};

}  // namespace eidolon::shim::host_time
