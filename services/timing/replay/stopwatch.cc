// Repetitions are nodes of one graph, because a host that launches one by one would be slower than
// short kernels. Each is between two events of its own; the time of an empty pair, measured alike,
// is taken off. A write between repetitions takes the cache away. A few probes decide how many
// repetitions fit into 100 ms. The median is reported, as single repetitions are disturbed by
// clocks and other work; the spread is that of percentiles for the same reason. The work is run
// twice before anything is captured, so that what happens once is over and a fault shows where it
// belongs.
#include "services/timing/replay/stopwatch.h"

#include <algorithm>
#include <cmath>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr int kWarmUps = 2;
constexpr int kProbes = 3;  // Repetitions that tell how many more there are time for.
constexpr int kRepetitionsMin = 9;
constexpr int kRepetitionsMax = 51;
constexpr double kBudgetMs = 100;

// Requires: sorted, not empty; 0 <= share <= 1.
double Quantile(const std::vector<float>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

// Returns the median of an overhead, which is not less than nothing.
Result<float> MedianOf(Result<std::vector<float>> times_ms) {
  if (!times_ms) return std::unexpected(times_ms.error());
  std::sort(times_ms->begin(), times_ms->end());
  return static_cast<float>(std::max(Quantile(*times_ms, 0.5), 0.0));
}

}  // namespace

Result<Reading> Summarise(std::vector<float> times_ms, float overhead_ms) {
  CHECK(!times_ms.empty());
  std::sort(times_ms.begin(), times_ms.end());
  const double median = Quantile(times_ms, 0.5) - overhead_ms;
  const double spread = (Quantile(times_ms, 0.84) - Quantile(times_ms, 0.16)) / 2;
  if (!std::isfinite(median) || median * 1e9 < 1 || median > 3.6e6) {
    return base::Fail(ErrorCode::kUnsupported,
                      StrCat("a time of ", median, " ms beside an overhead of ", overhead_ms,
                             " ms is not a measurement"));
  }
  return Reading{.median_ps = static_cast<std::uint64_t>(std::llround(median * 1e9)),
                 .spread = spread / median,
                 .repetitions = static_cast<std::uint32_t>(times_ms.size())};
}

Result<std::unique_ptr<Stopwatch>> Stopwatch::Create(const Driver& driver,
                                                     std::uint64_t flush_bytes, bool cold_cache) {
  std::unique_ptr<Stopwatch> watch(new Stopwatch(driver, cold_cache));
  if (auto started = watch->Start(flush_bytes); !started) {
    return std::unexpected(started.error());
  }
  return watch;
}

Result<void> Stopwatch::Start(std::uint64_t flush_bytes) {
  CUresult result = driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
  if (result != CUDA_SUCCESS) return driver_.Check(result, "creating a stream");
  if (flush_bytes > 0) {
    result = driver_.cuMemAlloc_v2(&flush_, flush_bytes);
    if (result != CUDA_SUCCESS) return driver_.Check(result, "allocating the flush buffer");
    flush_bytes_ = flush_bytes;
  }
  for (auto* events : {&begins_, &ends_}) {
    for (int i = 0; i < kRepetitionsMax; ++i) {
      CUevent event = nullptr;
      result = driver_.cuEventCreate(&event, CU_EVENT_DEFAULT);
      if (result != CUDA_SUCCESS) return driver_.Check(result, "creating an event");
      events->push_back(event);
    }
  }
  const Enqueue nothing = [](CUstream) { return Result<void>(); };
  const Enqueue wait = [this](CUstream stream) {
    return driver_.Check(driver_.cuStreamSynchronize(stream), "waiting");
  };
  const auto graph = MedianOf(Repeat(nothing, kRepetitionsMin));
  if (!graph) return std::unexpected(graph.error());
  const auto eager = MedianOf(RepeatEagerly(nothing, kRepetitionsMin));
  if (!eager) return std::unexpected(eager.error());
  const auto waiting = MedianOf(RepeatEagerly(wait, kRepetitionsMin));
  if (!waiting) return std::unexpected(waiting.error());
  overhead_ms_ = *graph;
  eager_overhead_ms_ = *eager;
  waiting_overhead_ms_ = *waiting;
  return {};
}

Stopwatch::~Stopwatch() {
  for (const auto* events : {&begins_, &ends_}) {
    for (CUevent event : *events) driver_.cuEventDestroy_v2(event);
  }
  if (flush_ != 0) driver_.cuMemFree_v2(flush_);
  if (stream_ != nullptr) driver_.cuStreamDestroy_v2(stream_);
}

namespace {

// Returns how many repetitions there is time for after the first ones.
int RepetitionsAfter(const std::vector<float>& probes) {
  const double each = std::max<double>(*std::min_element(probes.begin(), probes.end()), 1e-3);
  return std::clamp(static_cast<int>(std::min(kBudgetMs / each, 1e6)), kRepetitionsMin,
                    kRepetitionsMax);
}

}  // namespace

Result<void> Stopwatch::WarmUp(const Enqueue& enqueue) {
  for (int i = 0; i < kWarmUps; ++i) {
    if (auto done = enqueue(stream_); !done) return done;
  }
  // A fault shows here, before anything is captured.
  return driver_.Check(driver_.cuStreamSynchronize(stream_), "running it");
}

Result<Reading> Stopwatch::Measure(const Enqueue& enqueue) {
  if (auto warm = WarmUp(enqueue); !warm) return std::unexpected(warm.error());
  const auto probes = Repeat(enqueue, kProbes);
  if (!probes) return std::unexpected(probes.error());
  auto times = Repeat(enqueue, RepetitionsAfter(*probes));
  if (!times) return std::unexpected(times.error());
  return Summarise(std::move(*times), overhead_ms_);
}

Result<Reading> Stopwatch::MeasureEagerly(const Enqueue& enqueue, bool waits) {
  if (auto warm = WarmUp(enqueue); !warm) return std::unexpected(warm.error());
  const auto probes = RepeatEagerly(enqueue, kProbes);
  if (!probes) return std::unexpected(probes.error());
  auto times = RepeatEagerly(enqueue, RepetitionsAfter(*probes));
  if (!times) return std::unexpected(times.error());
  return Summarise(std::move(*times), waits ? waiting_overhead_ms_ : eager_overhead_ms_);
}

Result<std::vector<float>> Stopwatch::Repeat(const Enqueue& enqueue, int repetitions) {
  CUresult result = driver_.cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver_.Check(result, "beginning a capture").error());
  }
  const auto captured = Capture(enqueue, repetitions);
  // The capture ends in any case, or the stream could not be used again.
  CUgraph graph = nullptr;
  result = driver_.cuStreamEndCapture(stream_, &graph);
  if (!captured) {
    if (result == CUDA_SUCCESS && graph != nullptr) driver_.cuGraphDestroy(graph);
    return std::unexpected(captured.error());
  }
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver_.Check(result, "ending a capture").error());
  }
  const auto run = RunGraph(graph);
  driver_.cuGraphDestroy(graph);
  if (!run) return std::unexpected(run.error());
  return ReadTimes(repetitions);
}

Result<std::vector<float>> Stopwatch::RepeatEagerly(const Enqueue& enqueue, int repetitions) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(repetitions); ++i) {
    auto done = EnqueueOnce(enqueue, i, Mode::kEager);
    if (done) done = driver_.Check(driver_.cuStreamSynchronize(stream_), "running it");
    if (!done) return std::unexpected(done.error());
  }
  return ReadTimes(repetitions);
}

Result<std::vector<float>> Stopwatch::ReadTimes(int repetitions) {
  std::vector<float> times;
  for (std::size_t i = 0; i < static_cast<std::size_t>(repetitions); ++i) {
    float time = 0;
    const CUresult result = driver_.cuEventElapsedTime_v2(&time, begins_[i], ends_[i]);
    if (result != CUDA_SUCCESS) {
      return std::unexpected(driver_.Check(result, "reading a time").error());
    }
    times.push_back(time);
  }
  return times;
}

Result<void> Stopwatch::Capture(const Enqueue& enqueue, int repetitions) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(repetitions); ++i) {
    if (auto done = EnqueueOnce(enqueue, i, Mode::kGraph); !done) return done;
  }
  return {};
}

// Events within a graph are recorded as external ones: their times can be read when the graph has
// run.
Result<void> Stopwatch::EnqueueOnce(const Enqueue& enqueue, std::size_t number, Mode mode) {
  const unsigned record_flags =
      mode == Mode::kGraph ? CU_EVENT_RECORD_EXTERNAL : CU_EVENT_RECORD_DEFAULT;
  const auto record = [&](CUevent event) {
    return driver_.Check(driver_.cuEventRecordWithFlags(event, stream_, record_flags),
                         "recording an event");
  };
  if (flush_ != 0 && (cold_cache_ || mode == Mode::kEager)) {
    const CUresult flushed =
        driver_.cuMemsetD8Async(flush_, static_cast<unsigned char>(number), flush_bytes_, stream_);
    if (flushed != CUDA_SUCCESS) return driver_.Check(flushed, "flushing the cache");
  }
  if (auto done = record(begins_[number]); !done) return done;
  if (auto done = enqueue(stream_); !done) return done;
  return record(ends_[number]);
}

Result<void> Stopwatch::RunGraph(CUgraph graph) {
  CUgraphExec exec = nullptr;
  CUresult result = driver_.cuGraphInstantiateWithFlags(&exec, graph, 0);
  if (result != CUDA_SUCCESS) return driver_.Check(result, "instantiating the graph");
  result = driver_.cuGraphLaunch(exec, stream_);
  if (result == CUDA_SUCCESS) result = driver_.cuStreamSynchronize(stream_);
  driver_.cuGraphExecDestroy(exec);
  return driver_.Check(result, "running the graph");
}

}  // namespace eidolon::timing::replay
