// All counters of a family are made at once, so that each is there with zero before its first
// event: Prometheus cannot compute an increase from a series that begins with one. Label values
// stand in the order of their enumerators.
#include "services/timing/timing_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "services/contract/estimate/source.h"

namespace eidolon::timing {

TimingMetrics::TimingMetrics(prometheus::Registry& registry)
    : hits_(&prometheus::BuildCounter()
                 .Name("eidolon_timing_cache_hits_total")
                 .Help("Work items answered from the answer cache.")
                 .Register(registry)
                 .Add({})),
      misses_(&prometheus::BuildCounter()
                   .Name("eidolon_timing_cache_misses_total")
                   .Help("Work items that had to be estimated.")
                   .Register(registry)
                   .Add({})),
      batch_seconds_(
          &prometheus::BuildHistogram()
               .Name("eidolon_timing_batch_seconds")
               .Help("Time to answer one batch of work items.")
               .Register(registry)
               .Add({}, prometheus::Histogram::BucketBoundaries{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1})),
      cache_entries_(&prometheus::BuildGauge()
                          .Name("eidolon_timing_cache_entries")
                          .Help("Answers in the cache.")
                          .Register(registry)
                          .Add({})),
      profile_rows_(&prometheus::BuildGauge()
                         .Name("eidolon_timing_profile_rows")
                         .Help("Measured durations in the profile cache.")
                         .Register(registry)
                         .Add({})),
      replay_seconds_(&prometheus::BuildHistogram()
                           .Name("eidolon_timing_replay_seconds")
                           .Help("Time to replay one work item on the GPU.")
                           .Register(registry)
                           .Add({}, prometheus::Histogram::BucketBoundaries{1e-2, 3e-2, 0.1, 0.3, 1,
                                                                            3, 10, 60})),
      replay_queue_(&prometheus::BuildGauge()
                         .Name("eidolon_timing_replay_queue_items")
                         .Help("Work items that wait for the GPU.")
                         .Register(registry)
                         .Add({})),
      libraries_(&prometheus::BuildGauge()
                      .Name("eidolon_timing_gpu_library")
                      .Help("1 when calls of this math library can be measured, 0 when they are "
                            "modelled although there is a GPU.")
                      .Register(registry)),
      below_gap_(
          &prometheus::BuildCounter()
               .Name("eidolon_timing_below_gap_total")
               .Help("Measurements shorter than the gap in a graph of the GPU's file, which is "
                     "then too long for this GPU.")
               .Register(registry)
               .Add({})) {
  auto& items = prometheus::BuildCounter()
                    .Name("eidolon_timing_items_total")
                    .Help("Work items answered, by source of the estimate.")
                    .Register(registry);
  for (std::size_t i = 0; i < by_source_.size(); ++i) {
    by_source_[i] =
        &items.Add({{"source", std::string(estimate::Name(static_cast<estimate::Source>(i)))}});
  }
  auto& replays = prometheus::BuildCounter()
                      .Name("eidolon_timing_replays_total")
                      .Help("Replays of work items on the GPU, by how they ended.")
                      .Register(registry);
  constexpr const char* kOutcomes[] = {"measured", "refused", "fault", "hang", "lost"};
  for (std::size_t i = 0; i < replays_.size(); ++i) {
    replays_[i] = &replays.Add({{"outcome", kOutcomes[i]}});
  }
  auto& unmeasured = prometheus::BuildCounter()
                         .Name("eidolon_timing_unmeasured_total")
                         .Help("Work items that the model answers instead of the GPU, by reason.")
                         .Register(registry);
  constexpr const char* kReasons[] = {"queue_full",  "ending", "memory_unknown", "code_unknown",
                                      "unsupported", "failed", "no_worker"};
  for (std::size_t i = 0; i < unmeasured_.size(); ++i) {
    unmeasured_[i] = &unmeasured.Add({{"reason", kReasons[i]}});
  }
}

void TimingMetrics::Count(const Batch& batch) {
  hits_->Increment(static_cast<double>(batch.hits));
  misses_->Increment(static_cast<double>(batch.misses));
  for (std::size_t i = 0; i < by_source_.size(); ++i) {
    by_source_[i]->Increment(static_cast<double>(batch.by_source[i]));
  }
  batch_seconds_->Observe(batch.seconds);
}

void TimingMetrics::SetCacheEntries(double entries) { cache_entries_->Set(entries); }

void TimingMetrics::CountReplay(ReplayOutcome outcome, double seconds) {
  replays_[static_cast<std::size_t>(outcome)]->Increment();
  replay_seconds_->Observe(seconds);
}

void TimingMetrics::CountUnmeasured(Unmeasured reason) {
  unmeasured_[static_cast<std::size_t>(reason)]->Increment();
}

void TimingMetrics::SetReplayQueue(double items) { replay_queue_->Set(items); }

void TimingMetrics::SetProfileRows(double rows) { profile_rows_->Set(rows); }

void TimingMetrics::SetGpuLibrary(const std::string& name, bool usable) {
  libraries_->Add({{"library", name}}).Set(usable ? 1 : 0);
}

void TimingMetrics::CountBelowGap() { below_gap_->Increment(); }

}  // namespace eidolon::timing
