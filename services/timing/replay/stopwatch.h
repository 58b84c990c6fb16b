// How long a piece of work lasts on the GPU: warm-up, then repetitions inside one CUDA graph, each
// between two events and behind a write that takes the L2 cache away, as other work of a step does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "services/base/error.h"
#include "services/timing/replay/driver.h"

namespace eidolon::timing::replay {

struct Reading {
  std::uint64_t median_ps = 0;
  double spread = 0;  // Half of the 16th to 84th percentile, over the median.
  std::uint32_t repetitions = 0;
};

// Median and spread of times in milliseconds, `overhead_ms` taken off each. Refuses when nothing is
// left. Requires: not empty.
base::Result<Reading> Summarise(std::vector<float> times_ms, float overhead_ms);

// Not thread safe. The driver outlives it; the context is current in every call.
class Stopwatch {
 public:
  // `flush_bytes` are written between repetitions; 0 leaves the cache warm.
  static base::Result<std::unique_ptr<Stopwatch>> Create(const Driver& driver,
                                                         std::uint64_t flush_bytes);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  CUstream stream() const { return stream_; }

  // `enqueue` puts the work on stream() once; it is called for warm-up and under capture.
  using Enqueue = std::function<base::Result<void>(CUstream)>;
  base::Result<Reading> Measure(const Enqueue& enqueue);

 private:
  explicit Stopwatch(const Driver& driver) : driver_(driver) {}
  base::Result<void> Start(std::uint64_t flush_bytes);
  // The times of `repetitions` of the work, between events.
  base::Result<std::vector<float>> Repeat(const Enqueue& enqueue, int repetitions);
  base::Result<void> Capture(const Enqueue& enqueue, int repetitions);
  base::Result<void> RunGraph(CUgraph graph);

  const Driver& driver_;
  CUstream stream_ = nullptr;
  CUdeviceptr flush_ = 0;
  std::uint64_t flush_bytes_ = 0;
  std::vector<CUevent> begins_, ends_;
  float overhead_ms_ = 0;  // Between two events with nothing in between.
};

}  // namespace eidolon::timing::replay
