// One thread talks to the worker; callers wait on futures. An entry is in `waiting_` or with that
// thread, never both, and entries lie in a map whose nodes stay where they are, so the thread reads
// its batch without the lock. Every promise is kept: a measurement, a refusal, or the end of the
// service. Only the item that is being measured when the worker ends is to blame; those behind it
// go back to the queue marked `alone`, so that a second one that kills the worker is found as well.
// The worker is forked by this thread, because it dies with the thread that forked it
// (PR_SET_PDEATHSIG).
#include "services/timing/gpu_backend.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::timing {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::size_t kBatchBytesMax = measure::kFrameBytesMax / 2;

GpuBackend::Outcome Refusal(std::string text, Unmeasured reason = Unmeasured::kFailed) {
  return {std::nullopt, std::move(text), reason};
}

}  // namespace

GpuBackend::GpuBackend(const GpuBackendOptions& options, TimingMetrics& metrics,
                       const base::RealClock& clock)
    : options_(options), metrics_(metrics), clock_(clock) {}

Result<std::unique_ptr<GpuBackend>> GpuBackend::Start(const GpuBackendOptions& options,
                                                      TimingMetrics& metrics,
                                                      const base::RealClock& clock) {
  std::unique_ptr<GpuBackend> backend(new GpuBackend(options, metrics, clock));
  if (auto made = backend->MakeFolder(); !made) return std::unexpected(made.error());
  // The thread starts the worker, because the worker dies with the thread that did.
  std::promise<Result<v1::WorkerHello>> started;
  auto hello = started.get_future();
  backend->thread_ = std::thread([raw = backend.get(), promise = std::move(started)]() mutable {
    raw->Work(std::move(promise));
  });
  const auto heard = hello.get();
  if (!heard) return std::unexpected(heard.error());
  return backend;
}

Result<void> GpuBackend::MakeFolder() {
  std::error_code failed;
  folder_ = (std::filesystem::temp_directory_path(failed) / "eidolon-timing-XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) {
    const std::string wanted = std::exchange(folder_, "");
    return base::Fail(ErrorCode::kUnavailable, StrCat("cannot make the folder '", wanted, "'"));
  }
  const std::string code = folder_ + "/modules";
  std::filesystem::create_directory(code, failed);
  modules_ = std::make_unique<measure::ModuleStore>(code, options_.module_bytes_max);
  return {};
}

GpuBackend::~GpuBackend() {
  abandoned_.store(true);
  {
    const std::lock_guard lock(queue_mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

bool GpuBackend::Owns(const gpu_model::GpuModel& model) const {
  return hello_.gpu_name() == model.product_name && hello_.compute_major() == model.compute_major &&
         hello_.compute_minor() == model.compute_minor &&
         hello_.multiprocessors() == model.multiprocessors;
}

GpuBackend::Answer GpuBackend::Ask(base::Digest key, std::uint64_t priority,
                                   v1::ReplayRequest request) {
  const std::lock_guard lock(queue_mutex_);
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    Entry& entry = known->second;
    // Somebody waits for it more urgently now.
    if (priority < entry.order.first && waiting_.erase({entry.order, key}) > 0) {
      entry.order.first = priority;
      waiting_.insert({entry.order, key});
    }
    return entry.answer;
  }
  std::promise<Outcome> promise;
  Answer answer = promise.get_future().share();
  if (stopped_ || entries_.size() >= options_.queue_max) {
    promise.set_value(stopped_ ? Refusal("the service is ending", Unmeasured::kEnding)
                               : Refusal("the queue is full", Unmeasured::kQueueFull));
    return answer;
  }
  const auto order = std::pair(priority, arrivals_++);
  entries_.emplace(key, Entry{order, std::move(request), std::move(promise), answer});
  waiting_.insert({order, key});
  metrics_.SetReplayQueue(static_cast<double>(waiting_.size()));
  changed_.notify_one();
  return answer;
}

void GpuBackend::Work(std::promise<Result<v1::WorkerHello>> started) {
  auto hello = StartWorker();
  const bool good = hello.has_value();
  if (good) hello_ = *hello;
  started.set_value(std::move(hello));
  Batch batch;
  while (good && Take(batch)) {
    if (EnsureWorker()) {
      Measure(std::move(batch));
      continue;
    }
    for (const auto& [key, entry] : batch) {
      metrics_.CountReplay(ReplayOutcome::kLost, 0);
      Finish(key, Refusal("the worker cannot be started", Unmeasured::kNoWorker));
    }
  }
  worker_.reset();
  const std::lock_guard lock(queue_mutex_);
  stopped_ = true;
  for (auto& [key, entry] : entries_) {
    entry.promise.set_value(Refusal("the service is ending", Unmeasured::kEnding));
  }
  entries_.clear();
  waiting_.clear();
}

// The most urgent items, in their order; false when the service ends.
bool GpuBackend::Take(Batch& batch) {
  batch.clear();
  std::unique_lock lock(queue_mutex_);
  changed_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
  if (stopped_) return false;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < options_.batch_max) {
    const base::Digest key = waiting_.begin()->second;
    Entry& entry = entries_.at(key);
    bytes += entry.request.ByteSizeLong();
    if (!batch.empty() && (entry.alone || bytes > kBatchBytesMax)) break;
    waiting_.erase(waiting_.begin());
    batch.emplace_back(key, &entry);
    if (entry.alone) break;
  }
  metrics_.SetReplayQueue(static_cast<double>(waiting_.size()));
  return true;
}

void GpuBackend::GiveBack(Batch::const_iterator begin, Batch::const_iterator end) {
  const std::lock_guard lock(queue_mutex_);
  for (auto at = begin; at != end; ++at) {
    at->second->alone = true;
    waiting_.insert({at->second->order, at->first});
  }
  metrics_.SetReplayQueue(static_cast<double>(waiting_.size()));
}

void GpuBackend::Finish(base::Digest key, Outcome outcome) {
  const std::lock_guard lock(queue_mutex_);
  const auto entry = entries_.find(key);
  entry->second.promise.set_value(std::move(outcome));
  entries_.erase(entry);
}

Result<v1::WorkerHello> GpuBackend::StartWorker() {
  auto worker = measure::WorkerProcess::Start({.command = options_.worker,
                                               .socket = folder_ + "/worker",
                                               .start_limit_ms = options_.start_limit_ms,
                                               .abandoned = &abandoned_});
  if (!worker) return std::unexpected(worker.error());
  v1::WorkerHello hello;
  if (!hello.ParseFromString((*worker)->hello())) {
    return base::Fail(ErrorCode::kCorrupt, "the worker's hello makes no sense");
  }
  if (!hello.problem().empty()) return base::Fail(ErrorCode::kUnavailable, hello.problem());
  worker_ = std::move(*worker);
  base::Log(
      base::Level::kInfo, "gpu_owned",
      {{"gpu", hello.gpu_name()}, {"uuid", hello.gpu_uuid()}, {"libraries", hello.libraries()}});
  for (const v1::WorkerLibrary& library : hello.math_libraries()) {
    metrics_.SetGpuLibrary(library.name(), library.problem().empty());
    if (library.problem().empty()) continue;
    base::Log(base::Level::kWarning, "gpu_library_missing",
              {{"library", library.name()}, {"reason", library.problem()}});
  }
  return hello;
}

// A worker that fails again and again is started ever more rarely. While it cannot be started at
// all, nothing waits for it.
bool GpuBackend::EnsureWorker() {
  if (worker_ != nullptr) return true;
  const std::int64_t wait_ns = next_start_ns_ - clock_.MonotonicNs();
  if (wait_ns > 0) {
    std::unique_lock lock(queue_mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns), [&] { return stopped_; });
    if (stopped_) return false;
  }
  const auto hello = StartWorker();
  if (!hello) {
    Retreat(hello.error().message);
    Discard(hello.error().message);
    return false;
  }
  if (hello->gpu_uuid() != hello_.gpu_uuid() || hello->gpu_name() != hello_.gpu_name()) {
    worker_.reset();
    Retreat(StrCat("the GPU is now '", hello->gpu_name(), "'"));
    return false;
  }
  return true;
}

// The worker is gone; the next start is later.
void GpuBackend::Retreat(const std::string& reason) {
  worker_.reset();
  backoff_ms_ = std::clamp(2 * backoff_ms_, options_.backoff_ms_min, options_.backoff_ms_max);
  next_start_ns_ = clock_.MonotonicNs() + backoff_ms_ * kNsPerMs;
  base::Log(base::Level::kWarning, "gpu_worker_ended",
            {{"reason", reason}, {"next_start_ms", StrCat(backoff_ms_)}});
}

// Everything that waits is answered without a measurement.
void GpuBackend::Discard(const std::string& reason) {
  const std::lock_guard lock(queue_mutex_);
  for (const auto& [order, key] : waiting_) {
    const auto entry = entries_.find(key);
    entry->second.promise.set_value(
        Refusal(StrCat("the worker cannot be started: ", reason), Unmeasured::kNoWorker));
    entries_.erase(entry);
    metrics_.CountReplay(ReplayOutcome::kLost, 0);
  }
  waiting_.clear();
  metrics_.SetReplayQueue(0);
}

void GpuBackend::Measure(Batch batch) {
  v1::ReplayBatch message;
  for (const auto& [key, entry] : batch) {
    entry->request.set_number(++number_);
    *message.add_requests() = entry->request;
  }
  const std::string bytes = message.SerializeAsString();
  if (bytes.size() > measure::kFrameBytesMax) {  // Then it is one item: Take sees to that.
    for (const auto& [key, entry] : batch) {
      metrics_.CountReplay(ReplayOutcome::kRefused, 0);
      Finish(key, Refusal(StrCat("a request of ", bytes.size(), " bytes")));
    }
    return;
  }
  // A worker that is gone already shows when its first answer does not come.
  static_cast<void>(worker_->Send(bytes));
  for (auto at = batch.cbegin(); at != batch.cend(); ++at) {
    bool ended = false;
    Outcome outcome = Await(at->second->request.number(), ended);
    if (ended) GiveBack(at + 1, batch.cend());
    Finish(at->first, std::move(outcome));
    if (ended) return;
  }
}

GpuBackend::Outcome GpuBackend::Await(std::uint64_t number, bool& ended) {
  const std::int64_t begin = clock_.MonotonicNs();
  const auto answer = worker_->Receive(options_.item_limit_ms);
  const double seconds = static_cast<double>(clock_.MonotonicNs() - begin) * 1e-9;
  v1::ReplayResult result;
  ended = true;
  if (!answer) {
    const bool hang = answer.error().code == ErrorCode::kResourceExhausted;
    metrics_.CountReplay(hang ? ReplayOutcome::kHang : ReplayOutcome::kFault, seconds);
    Retreat(answer.error().message);
    return Refusal(hang ? StrCat("no result within ", options_.item_limit_ms, " ms")
                        : std::string("the worker ended while measuring it"));
  }
  if (!result.ParseFromString(*answer) || result.number() != number) {
    metrics_.CountReplay(ReplayOutcome::kFault, seconds);
    Retreat("its answer makes no sense");
    return Refusal("the worker's answer makes no sense");
  }
  if (result.lost()) {
    metrics_.CountReplay(ReplayOutcome::kFault, seconds);
    Retreat(result.refusal());
    return Refusal(result.refusal());
  }
  ended = false;
  backoff_ms_ = 0;
  if (!result.refusal().empty() || result.median_picoseconds() == 0) {
    metrics_.CountReplay(ReplayOutcome::kRefused, seconds);
    return Refusal(result.refusal().empty() ? "a time of nothing" : result.refusal(),
                   result.unsupported() ? Unmeasured::kUnsupported : Unmeasured::kFailed);
  }
  metrics_.CountReplay(ReplayOutcome::kMeasured, seconds);
  return {std::move(result), "", Unmeasured::kFailed};
}

}  // namespace eidolon::timing
