// Measuring on the GPU that this service owns: a queue of work items in front of one worker
// process. The worker may fault, hang or lose its GPU; then the item is answered by the model and
// the worker is started again.
//
//   Ask --> queue by priority --> thread --batches--> eidolon-timing-worker --> GPU
//             equal keys share one entry; each is answered: measured, or why not
//
// A worker that ends within a batch has answered the items before the one that ended it; those
// behind it are tried again, each alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "eidolon/timing/v1/replay.pb.h"
#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/base/hash.h"
#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/measure/module_store.h"
#include "services/timing/measure/worker_process.h"
#include "services/timing/timing_metrics.h"

namespace eidolon::timing {

struct GpuBackendOptions {
  // The worker's program and arguments; empty: none, the service does not measure.
  std::vector<std::string> worker;
  std::int64_t start_limit_ms = 120'000;  // A driver's first context may take half a minute.
  std::int64_t item_limit_ms = 60'000;    // Then the worker hangs.
  std::int64_t backoff_ms_min = 200;      // Between two starts, doubled with each failure.
  std::int64_t backoff_ms_max = 5'000;
  std::size_t queue_max = 200'000;
  // More urgent work waits for this many items at most.
  std::size_t batch_max = 8;
  std::uint64_t module_bytes_max = std::uint64_t{16} << 30;
};

// Thread safe. Metrics and clock outlive it.
class GpuBackend {
 public:
  // A measurement, or why there is none.
  struct Outcome {
    std::optional<v1::ReplayResult> measured;
    std::string refusal;
    Unmeasured reason = Unmeasured::kFailed;
  };
  using Answer = std::shared_future<Outcome>;

  // Starts the worker and hears which GPU it owns. The error says why there is none: no driver, no
  // GPU, no program.
  static base::Result<std::unique_ptr<GpuBackend>> Start(const GpuBackendOptions& options,
                                                         TimingMetrics& metrics,
                                                         const base::RealClock& clock);
  // Answers what waits with a refusal and ends the worker.
  ~GpuBackend();
  GpuBackend(const GpuBackend&) = delete;
  GpuBackend& operator=(const GpuBackend&) = delete;

  // The worker's first hello; another GPU after a restart is refused.
  const v1::WorkerHello& gpu() const { return hello_; }
  // Returns whether the GPU is one of this model. Numbers of one GPU are never another's.
  bool Owns(const gpu_model::GpuModel& model) const;
  measure::ModuleStore& modules() { return *modules_; }

  // `priority`: lower is sooner, equal ones in their order. A key that is being measured already is
  // not measured twice. The answer always comes.
  Answer Ask(base::Digest key, std::uint64_t priority, v1::ReplayRequest request);

 private:
  struct Entry {
    std::pair<std::uint64_t, std::uint64_t> order;  // Priority, arrival.
    v1::ReplayRequest request;
    std::promise<Outcome> promise;
    Answer answer;
    bool alone = false;  // It was behind an item that ended the worker.
  };
  // Entries whose items are with the worker; nobody else touches them.
  using Batch = std::vector<std::pair<base::Digest, Entry*>>;

  GpuBackend(const GpuBackendOptions& options, TimingMetrics& metrics,
             const base::RealClock& clock);
  base::Result<void> MakeFolder();
  base::Result<v1::WorkerHello> StartWorker();
  void Work(std::promise<base::Result<v1::WorkerHello>> started);
  bool EnsureWorker();
  bool Take(Batch& batch);
  void Measure(Batch batch);
  // The outcome of the item that the worker has now; `ended` when it was the worker's last.
  Outcome Await(std::uint64_t number, bool& ended);
  void GiveBack(Batch::const_iterator begin, Batch::const_iterator end);
  void Discard(const std::string& reason);
  void Finish(base::Digest key, Outcome outcome);
  void Retreat(const std::string& reason);

  const GpuBackendOptions options_;
  TimingMetrics& metrics_;
  const base::RealClock& clock_;
  std::string folder_;
  std::unique_ptr<measure::ModuleStore> modules_;
  v1::WorkerHello hello_;

  std::mutex queue_mutex_;  // Guards what follows, up to the thread's own.
  std::condition_variable changed_;
  bool stopped_ = false;
  std::uint64_t arrivals_ = 0;
  std::map<base::Digest, Entry> entries_;  // Waiting and running.
  std::set<std::pair<std::pair<std::uint64_t, std::uint64_t>, base::Digest>> waiting_;

  std::atomic<bool> abandoned_{false};  // Ends what the thread waits for.

  // The thread's own.
  std::unique_ptr<measure::WorkerProcess> worker_;
  std::uint64_t number_ = 0;
  std::int64_t backoff_ms_ = 0;
  std::int64_t next_start_ns_ = 0;
  std::thread thread_;
};

}  // namespace eidolon::timing
