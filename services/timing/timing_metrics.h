// Prometheus metrics of the timing service, made once.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace eidolon::timing {

// How a replay on the GPU ended; only the first gives a duration.
enum class ReplayOutcome { kMeasured, kRefused, kFault, kHang, kLost };

// Reasons why an item that was to be measured is answered by the model.
enum class Unmeasured {
  kQueueFull,
  kEnding,         // The service stops.
  kMemoryUnknown,  // Nobody told a kernel's parameters and allocations.
  kCodeUnknown,    // Nobody uploaded its module.
  kUnsupported,    // Replays do not know such calls, or not what they need to know of this one.
  kFailed,         // It faulted, hung or did not fit.
  kNoWorker,       // The worker ended and could not be started again.
};

// Returns whether the same item may be measured when it is requested again: the reason is the
// service's state or the request, not the item.
inline bool IsTransient(Unmeasured reason) {
  return reason != Unmeasured::kUnsupported && reason != Unmeasured::kFailed;
}

// Thread safe. The registry outlives it.
class TimingMetrics {
 public:
  explicit TimingMetrics(prometheus::Registry& registry);

  // Work of one batch.
  struct Batch {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::array<std::uint64_t, 4> by_source{};  // In the order of estimate::Source.
    double seconds = 0;
  };
  void Count(const Batch& batch);
  void SetCacheEntries(double entries);
  void SetProfileRows(double rows);
  void CountReplay(ReplayOutcome outcome, double seconds);
  void SetReplayQueue(double items);
  void CountUnmeasured(Unmeasured reason);
  // Sets whether calls of a math library can be measured.
  void SetGpuLibrary(const std::string& name, bool usable);
  void CountBelowGap();

 private:
  prometheus::Counter* hits_;
  prometheus::Counter* misses_;
  std::array<prometheus::Counter*, 4> by_source_{};
  prometheus::Histogram* batch_seconds_;
  prometheus::Gauge* cache_entries_;
  prometheus::Gauge* profile_rows_;
  std::array<prometheus::Counter*, 5> replays_{};  // In the order of ReplayOutcome.
  prometheus::Histogram* replay_seconds_;
  prometheus::Gauge* replay_queue_;
  std::array<prometheus::Counter*, 7> unmeasured_{};  // In the order of Unmeasured.
  prometheus::Family<prometheus::Gauge>* libraries_;
  prometheus::Counter* below_gap_;
};

}  // namespace eidolon::timing
