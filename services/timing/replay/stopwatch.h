// How long a piece of work lasts on the GPU: warm-up, then repetitions inside one CUDA graph, each
// between two events and behind a write that takes the L2 cache away, as other work of a step does.
// Work that the host takes part in is repeated without a graph, behind such a write in any case:
// while the GPU writes, the host makes its calls, so that they are not in the time.
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

// This class is not thread-safe. The driver outlives it; the context is current in every call.
class Stopwatch {
 public:
  // `flush_bytes` are written between repetitions; only between those without a graph when the
  // cache is to stay warm.
  static base::Result<std::unique_ptr<Stopwatch>> Create(const Driver& driver,
                                                         std::uint64_t flush_bytes,
                                                         bool cold_cache);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  CUstream stream() const { return stream_; }

  // `enqueue` puts the work on stream() once; it is called for warm-up and under capture.
  using Enqueue = std::function<base::Result<void>(CUstream)>;
  base::Result<Reading> Measure(const Enqueue& enqueue);
  // Without a graph: each repetition is enqueued by the host and waited for, as copies of pageable
  // memory are, which the driver moves through memory of its own while the call lasts. `waits`:
  // `enqueue` comes back when the work has ended, so that the second event comes late by what the
  // host takes to come back and to record it; that is taken off, too.
  base::Result<Reading> MeasureEagerly(const Enqueue& enqueue, bool waits);

 private:
  enum class Mode { kGraph, kEager };

  Stopwatch(const Driver& driver, bool cold_cache) : driver_(driver), cold_cache_(cold_cache) {}
  base::Result<void> Start(std::uint64_t flush_bytes);
  // The times of `repetitions` of the work, between events.
  base::Result<std::vector<float>> Repeat(const Enqueue& enqueue, int repetitions);
  base::Result<std::vector<float>> RepeatEagerly(const Enqueue& enqueue, int repetitions);
  base::Result<void> WarmUp(const Enqueue& enqueue);
  base::Result<void> EnqueueOnce(const Enqueue& enqueue, std::size_t number, Mode mode);
  base::Result<std::vector<float>> ReadTimes(int repetitions);
  base::Result<void> Capture(const Enqueue& enqueue, int repetitions);
  base::Result<void> RunGraph(CUgraph graph);

  const Driver& driver_;
  const bool cold_cache_;
  CUstream stream_ = nullptr;
  CUdeviceptr flush_ = 0;
  std::uint64_t flush_bytes_ = 0;
  std::vector<CUevent> begins_, ends_;
  float overhead_ms_ = 0;  // Between two events with nothing in between.
  float eager_overhead_ms_ = 0;
  float waiting_overhead_ms_ = 0;  // With the host waiting for the stream in between.
};

}  // namespace eidolon::timing::replay
