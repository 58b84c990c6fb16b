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
                                                     std::uint64_t flush_bytes) {
  std::unique_ptr<Stopwatch> watch(new Stopwatch(driver));
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
  auto nothing = Repeat([](CUstream) { return Result<void>(); }, kRepetitionsMin);
  if (!nothing) return std::unexpected(nothing.error());
  std::sort(nothing->begin(), nothing->end());
  overhead_ms_ = static_cast<float>(std::max(Quantile(*nothing, 0.5), 0.0));
  return {};
}

Stopwatch::~Stopwatch() {
  for (const auto* events : {&begins_, &ends_}) {
    for (CUevent event : *events) driver_.cuEventDestroy_v2(event);
  }
  if (flush_ != 0) driver_.cuMemFree_v2(flush_);
}

Result<Reading> Stopwatch::Measure(const Enqueue& enqueue) {
  for (int i = 0; i < kWarmUps; ++i) {
    if (auto done = enqueue(stream_); !done) return std::unexpected(done.error());
  }
  // A fault shows here, before anything is captured.
  const CUresult warm = driver_.cuStreamSynchronize(stream_);
  if (warm != CUDA_SUCCESS) return std::unexpected(driver_.Check(warm, "running it").error());
  const auto probes = Repeat(enqueue, kProbes);
  if (!probes) return std::unexpected(probes.error());
  const double each = std::max<double>(*std::min_element(probes->begin(), probes->end()), 1e-3);
  const int repetitions = std::clamp(static_cast<int>(std::min(kBudgetMs / each, 1e6)),
                                     kRepetitionsMin, kRepetitionsMax);
  auto times = Repeat(enqueue, repetitions);
  if (!times) return std::unexpected(times.error());
  return Summarise(std::move(*times), overhead_ms_);
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
  std::vector<float> times;
  for (std::size_t i = 0; i < static_cast<std::size_t>(repetitions); ++i) {
    float time = 0;
    result = driver_.cuEventElapsedTime_v2(&time, begins_[i], ends_[i]);
    if (result != CUDA_SUCCESS) {
      return std::unexpected(driver_.Check(result, "reading a time").error());
    }
    times.push_back(time);
  }
  return times;
}

Result<void> Stopwatch::Capture(const Enqueue& enqueue, int repetitions) {
  const auto record = [&](CUevent event) {
    return driver_.Check(driver_.cuEventRecordWithFlags(event, stream_, CU_EVENT_RECORD_EXTERNAL),
                         "recording an event");
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(repetitions); ++i) {
    if (flush_ != 0) {
      const CUresult flushed =
          driver_.cuMemsetD8Async(flush_, static_cast<unsigned char>(i), flush_bytes_, stream_);
      if (flushed != CUDA_SUCCESS) return driver_.Check(flushed, "flushing the cache");
    }
    if (auto done = record(begins_[i]); !done) return done;
    if (auto done = enqueue(stream_); !done) return done;
    if (auto done = record(ends_[i]); !done) return done;
  }
  return {};
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
