// Prometheus metrics of the timing service, made once.
#pragma once

#include <array>
#include <cstdint>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace eidolon::timing {

// How a replay on the GPU ended; only the first gives a duration.
enum class ReplayOutcome { kMeasured, kRefused, kFault, kHang, kLost };

// Thread safe. The registry outlives it.
class TimingMetrics {
 public:
  explicit TimingMetrics(prometheus::Registry& registry);

  // What one batch did.
  struct Batch {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::array<std::uint64_t, 4> by_source{};  // In the order of model::Source.
    double seconds = 0;
  };
  void Count(const Batch& batch);
  void SetCacheEntries(double entries);
  void SetProfileRows(double rows);
  void CountReplay(ReplayOutcome outcome, double seconds);
  void SetReplayQueue(double items);

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
};

}  // namespace eidolon::timing
