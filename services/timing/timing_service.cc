// A batch goes through stages, and an item leaves at the first that answers it: the cache, a
// measurement, counts of its code where the model would only guess, the model. Code and memory are
// not sent with a question, since most items do not need them. When something is missing, the
// response names modules instead of estimates; the agent uploads them and asks again with
// modules_sent, after which nothing more is requested: there are at most two rounds. Answers are
// cached by GPU, clock and definition, which decide them as long as the profiles do not change; an
// import empties the cache. The model's answer to an item that could not be measured for now is not
// cached. The clock is applied last and to every source: a measurement at the
// GPU's own clock is carried over by the model's ratio. Calls run on gRPC's threads; every member
// that changes has a lock of its own.
#include "services/timing/timing_service.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/contract/machine/machine.h"
#include "services/contract/workload/definition.h"
#include "services/runtime/grpc_status.h"
#include "services/timing/count/bounds.h"
#include "services/timing/gpu_model/at_clock.h"
#include "services/timing/kernel/grouped_gemm.h"
#include "services/timing/kernel/work_key.h"
#include "services/timing/model/measurements.h"
#include "services/timing/model/power_model.h"
#include "services/timing/work_messages.h"

namespace eidolon::timing {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;

constexpr int kBatchMax = 100'000;
constexpr std::size_t kReportedNamesMax = 1000;
constexpr std::size_t kLoggedNameMax = 300;
constexpr std::size_t kHashBytes = 16;
constexpr auto kCancelPoll = std::chrono::milliseconds(100);

// Identity of a question: the GPU, its clock and the definition.
base::Digest QuestionKey(const v1::EstimateRequest& request, const std::string& definition,
                         std::string& scratch) {
  scratch = request.gpu();
  scratch.push_back('\0');
  const double clock = request.clock();
  scratch.append(reinterpret_cast<const char*>(&clock), sizeof(clock));
  scratch += definition;
  return base::Hash128(scratch.data(), scratch.size());
}

std::span<const std::byte> BytesOf(const std::string& definition) {
  return std::as_bytes(std::span(definition));
}

}  // namespace

Result<std::unique_ptr<TimingService>> TimingService::Create(const TimingOptions& options,
                                                             prometheus::Registry& registry,
                                                             const base::RealClock& clock) {
  auto catalog = gpu_model::GpuCatalog::Load(options.gpu_model_directory);
  if (!catalog) return std::unexpected(catalog.error());
  auto profiles = profile::ProfileCache::Open(options.profile_file);
  if (!profiles) return std::unexpected(profiles.error());
  return std::unique_ptr<TimingService>(
      new TimingService(std::move(*catalog), std::move(*profiles), options, registry, clock));
}

TimingService::TimingService(gpu_model::GpuCatalog catalog,
                             std::unique_ptr<profile::ProfileCache> profiles,
                             const TimingOptions& options, prometheus::Registry& registry,
                             const base::RealClock& clock)
    : gate_(options.gate),
      counting_(options.counting),
      catalog_(std::move(catalog)),
      profiles_(std::move(profiles)),
      clock_(clock),
      estimator_(profiles_.get()),
      counted_(options.count_folder),
      answers_(options.cache_entries_max),
      metrics_(registry) {
  metrics_.SetProfileRows(static_cast<double>(profiles_->row_count()));
  if (options.gpu.worker.empty()) return;
  auto backend = GpuBackend::Start(options.gpu, metrics_, clock);
  if (backend) {
    backend_ = std::move(*backend);
  } else {
    base::Log(base::Level::kWarning, "gpu_absent",
              {{"reason", backend.error().message}, {"instead", "the models answer"}});
  }
}

grpc::Status TimingService::Admit(const grpc::ServerContext* context) const {
  runtime::Caller caller;
  return gate_.Admit(context, &caller);
}

struct TimingService::Question {
  base::Digest cache_key;
  std::optional<model::Estimate> answer;
  std::optional<kernel::WorkItem> work;  // Without an answer.
  model::Estimate modelled;              // Of the work, unless it may be measured.
  // The answer is not cached: the next request may have it measured.
  bool provisional = false;
  const v1::Replay* replay = nullptr;
  base::Digest work_key;
  GpuBackend::Answer measurement;
};

struct TimingService::AskedGpu {
  const gpu_model::GpuModel* own = nullptr;
  std::optional<gpu_model::GpuModel> scaled;  // At another clock.
};

grpc::Status TimingService::FindGpu(const v1::EstimateRequest& request, AskedGpu& gpu) const {
  const auto found = catalog_.Find(request.gpu());
  if (!found) return {grpc::StatusCode::INVALID_ARGUMENT, found.error().message};
  gpu.own = *found;
  const double clock = request.clock() == 0 ? 1 : request.clock();
  if (!(clock >= machine::kClockMin && clock <= machine::kClockMax)) {
    return {grpc::StatusCode::INVALID_ARGUMENT,
            StrCat("clock ", clock, " is not between ", machine::kClockMin, " and ",
                   machine::kClockMax)};
  }
  if (clock != 1) gpu.scaled = gpu_model::AtClock(*gpu.own, clock);
  return grpc::Status::OK;
}

grpc::Status TimingService::Estimate(grpc::ServerContext* context,
                                     const v1::EstimateRequest* request,
                                     v1::EstimateResponse* response) {
  if (const auto admitted = Admit(context); !admitted.ok()) return admitted;
  const std::int64_t begin = clock_.MonotonicNs();
  AskedGpu gpu;
  if (auto found = FindGpu(*request, gpu); !found.ok()) return found;
  if (auto known = workload::CheckVersion(request->layout_version()); !known) {
    return runtime::ToStatus(known.error());
  }
  if (request->definitions_size() > kBatchMax) {
    return {grpc::StatusCode::INVALID_ARGUMENT, StrCat("a batch of ", request->definitions_size(),
                                                       " definitions is larger than ", kBatchMax)};
  }
  TimingMetrics::Batch batch;
  std::vector<Question> questions;
  if (auto read = Read(*request, gpu, questions, batch); !read.ok()) return read;
  if (Measures(*gpu.own)) {
    if (WantsModules(*request, questions, *response)) return grpc::Status::OK;
    auto measured = MeasureAll(context, *request, *gpu.own, questions);
    if (!measured.ok()) return measured;
    for (Question& question : questions) {
      if (!question.answer) question.modelled = estimator_.Of(*gpu.own, *question.work);
    }
  } else if (WantsCode(*request, *gpu.own, questions, *response)) {
    return grpc::Status::OK;
  }
  response->mutable_estimates()->Reserve(request->definitions_size());
  for (int i = 0; i < request->definitions_size(); ++i) {
    Question& question = questions[static_cast<std::size_t>(i)];
    if (!question.answer) Answer(request->definitions(i), gpu, question);
    ++batch.by_source[static_cast<std::size_t>(question.answer->source)];
    ToMessage(*question.answer, *response->add_estimates());
  }
  batch.seconds = static_cast<double>(clock_.MonotonicNs() - begin) * 1e-9;
  metrics_.Count(batch);
  if (batch.misses > 0) metrics_.SetCacheEntries(static_cast<double>(answers_.size()));
  return grpc::Status::OK;
}

bool TimingService::MayCount(const gpu_model::GpuModel& gpu, const kernel::WorkItem& work,
                             const model::Estimate& modelled) const {
  if (gpu.fixed || !std::holds_alternative<kernel::KernelLaunch>(work)) return false;
  // What torch.compile generates does not tell the types of its operands: its code does.
  const bool generated = modelled.source == estimate::Source::kModelled &&
                         modelled.family == kernel::Name(kernel::Family::kTriton);
  return modelled.source == estimate::Source::kAssumed || generated ||
         (counting_ == Counting::kAll && modelled.source == estimate::Source::kModelled);
}

bool TimingService::WantsCode(const v1::EstimateRequest& request, const gpu_model::GpuModel& gpu,
                              const std::vector<Question>& questions,
                              v1::EstimateResponse& response) {
  if (request.modules_sent()) return false;
  std::set<std::string> wanted;
  for (const Question& question : questions) {
    if (question.answer || !MayCount(gpu, *question.work, question.modelled)) continue;
    const auto& launch = std::get<kernel::KernelLaunch>(*question.work);
    if (counted_.WantsCode(gpu, launch)) wanted.insert(launch.ModuleHash());
  }
  for (const std::string& hash : wanted) response.add_wanted_modules(hash);
  return !wanted.empty();
}

// Turns what is known of an item into its answer: counts in place of the model where they are
// better, then the clock, then the power.
void TimingService::Answer(const std::string& definition, const AskedGpu& gpu, Question& question) {
  question.answer = question.modelled;
  bool counted = false;
  if (MayCount(*gpu.own, *question.work, question.modelled)) {
    const auto& launch = std::get<kernel::KernelLaunch>(*question.work);
    if (const auto counts = counted_.Find(*gpu.own, launch)) {
      counted = true;
      const count::CountedTime time = count::TimeOf(*counts, *gpu.own);
      question.answer->duration = model::OperationTime(time.seconds);
      question.answer->source = estimate::Source::kModelled;
      question.answer->relative_error = time.relative_error;
      // A name alone, such as that of XLA's fused GEMMs, tells no sizes.
      question.answer->counts.matrix_flops = count::MatrixOperations(*counts);
      if (gpu.scaled) {
        question.answer = model::CarriedToClock(*question.answer, time.seconds,
                                                count::TimeOf(*counts, *gpu.scaled).seconds,
                                                gpu.scaled->clock_scale);
      }
    }
  }
  if (gpu.scaled && !counted) {
    question.answer = estimator_.AtClock(question.modelled, *gpu.own, *gpu.scaled, *question.work);
  }
  question.answer->draw = model::DrawOf(gpu.scaled ? *gpu.scaled : *gpu.own, question.answer->duty,
                                        question.answer->duration);
  if (!question.provisional) answers_.Add(question.cache_key, *question.answer);
  if (!gpu.own->fixed) Report(definition, *question.answer);
}

grpc::Status TimingService::Read(const v1::EstimateRequest& request, const AskedGpu& gpu,
                                 std::vector<Question>& questions, TimingMetrics::Batch& batch) {
  const bool measures = Measures(*gpu.own);
  std::string scratch;
  questions.resize(static_cast<std::size_t>(request.definitions_size()));
  for (int i = 0; i < request.definitions_size(); ++i) {
    Question& question = questions[static_cast<std::size_t>(i)];
    question.cache_key = QuestionKey(request, request.definitions(i), scratch);
    question.answer = answers_.Find(question.cache_key);
    if (question.answer) {
      ++batch.hits;
      continue;
    }
    auto work = kernel::ReadWork(BytesOf(request.definitions(i)));
    if (!work) {
      return {grpc::StatusCode::INVALID_ARGUMENT,
              StrCat("definitions[", i, "]: ", work.error().message)};
    }
    ++batch.misses;
    question.work = std::move(*work);
    if (measures) {
      question.work_key = kernel::WorkKey(*question.work);
    } else {
      question.modelled = estimator_.Of(*gpu.own, *question.work);
      if (!MayCount(*gpu.own, *question.work, question.modelled)) {
        Answer(request.definitions(i), gpu, question);
      }
    }
  }
  if (!measures) return grpc::Status::OK;
  for (const v1::Replay& replay : request.replays()) {
    if (replay.item() < questions.size()) questions[replay.item()].replay = &replay;
  }
  return grpc::Status::OK;
}

bool TimingService::WantsModules(const v1::EstimateRequest& request,
                                 const std::vector<Question>& questions,
                                 v1::EstimateResponse& response) const {
  if (request.modules_sent()) return false;
  std::set<std::string> wanted;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& question = questions[i];
    if (question.answer || question.replay == nullptr) continue;
    if (profiles_->Find(request.gpu(), question.work_key)) continue;
    const auto* const launch = std::get_if<kernel::KernelLaunch>(&*question.work);
    const std::string hash = launch == nullptr ? "" : launch->ModuleHash();
    if (hash.size() == kHashBytes && !backend_->modules().Has(hash)) wanted.insert(hash);
  }
  for (const std::string& hash : wanted) response.add_wanted_modules(hash);
  return !wanted.empty();
}

// Requests everything first and waits afterwards, so that the worker gets whole batches.
grpc::Status TimingService::MeasureAll(const grpc::ServerContext* context,
                                       const v1::EstimateRequest& request,
                                       const gpu_model::GpuModel& gpu,
                                       std::vector<Question>& questions) {
  std::map<base::Digest, GpuBackend::Answer> asked;  // A batch may hold equal work.
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Question& question = questions[i];
    if (question.answer || profiles_->Find(gpu.name, question.work_key)) continue;
    if (const auto known = asked.find(question.work_key); known != asked.end()) {
      question.measurement = known->second;
      continue;
    }
    const std::string& definition = request.definitions(static_cast<int>(i));
    v1::ReplayRequest replay;
    if (const auto* const launch = std::get_if<kernel::KernelLaunch>(&*question.work)) {
      const std::string hash = launch->ModuleHash();
      if (kernel::FindGroupedGemm(*launch)) {
        LeaveUnmeasured(definition, Unmeasured::kUnsupported, "it finds its sizes in device memory",
                        question);
        continue;
      }
      if (question.replay == nullptr) {
        LeaveUnmeasured(definition, Unmeasured::kMemoryUnknown,
                        "its parameters and memory are not known", question);
        continue;
      }
      if (hash.size() != kHashBytes || !backend_->modules().Has(hash)) {
        LeaveUnmeasured(definition, Unmeasured::kCodeUnknown, "the code of its module is not known",
                        question);
        continue;
      }
      *replay.mutable_replay() = *question.replay;
      replay.set_module_file(backend_->modules().FileOf(hash));
    } else if (std::holds_alternative<kernel::LibraryCall>(*question.work)) {
      LeaveUnmeasured(definition, Unmeasured::kUnsupported,
                      "calls of this library are not replayed", question);
      continue;
    }
    replay.set_definition(definition);
    replay.set_layout_version(request.layout_version());
    // An agent asks first for what blocks its ranks.
    question.measurement = backend_->Ask(question.work_key, i, std::move(replay));
    asked.emplace(question.work_key, question.measurement);
  }
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Question& question = questions[i];
    if (!question.measurement.valid()) continue;
    while (question.measurement.wait_for(kCancelPoll) != std::future_status::ready) {
      if (context->IsCancelled()) return {grpc::StatusCode::CANCELLED, "nobody waits any more"};
    }
    const GpuBackend::Outcome& outcome = question.measurement.get();
    if (outcome.measured) {
      Keep(gpu, *question.work, *outcome.measured);
    } else {
      LeaveUnmeasured(request.definitions(static_cast<int>(i)), outcome.reason, outcome.refusal,
                      question);
    }
  }
  return grpc::Status::OK;
}

void TimingService::Keep(const gpu_model::GpuModel& gpu, const kernel::WorkItem& work,
                         const v1::ReplayResult& result) {
  // Work is replayed as nodes of a graph, copies of pageable memory in a stream: what is measured
  // begins with the gap of either. What the model holds for the shortest kernel is nothing to it.
  const auto* const copy = std::get_if<kernel::Copy>(&work);
  const bool in_stream = copy != nullptr && kernel::IsPageable(*copy);
  const base::Duration in_graph =
      std::holds_alternative<kernel::Gemm>(work) ? gpu.gemm_graph_gap : gpu.graph_gap;
  const base::Duration gap = in_stream ? gpu.launch_gap : in_graph;
  const base::Duration between{static_cast<std::int64_t>(result.median_picoseconds())};
  const base::Duration median = std::max(between - gap, model::kWithinLaunchGap);
  if (between <= gap) ReportBelowGap(gpu, between);
  const v1::WorkerHello& owned = backend_->gpu();
  profile::Profile profile;
  profile.gpu = gpu.name;
  profile.driver = owned.driver_version();
  profile.cuda = owned.cuda_version();
  profile.libraries = owned.libraries();
  profile.clocks = owned.clocks();
  profile.date = base::FormatUtc(clock_.UnixNs());
  profile.tool = "eidolon replay 1";
  profile.rows.push_back({.key = kernel::WorkKey(work),
                          .class_key = kernel::ClassKey(work),
                          .size = estimator_.SizeOf(work),
                          .median = median,
                          .spread = result.spread(),
                          .repetitions = result.repetitions()});
  if (auto kept = profiles_->Add(profile); !kept) {
    base::Log(base::Level::kWarning, "measurement_not_kept", {{"reason", kept.error().message}});
  }
  metrics_.SetProfileRows(static_cast<double>(profiles_->row_count()));
}

// No kernel of a real GPU is that short: the gap of the GPU's file is then too long.
void TimingService::ReportBelowGap(const gpu_model::GpuModel& gpu, base::Duration between) {
  metrics_.CountBelowGap();
  const std::lock_guard lock(reported_mutex_);
  if (!unmeasured_.insert("graph_gap of " + gpu.name).second) return;
  base::Log(base::Level::kWarning, "graph_gap_too_long",
            {{"gpu", gpu.name},
             {"measured_ps", StrCat(between.ps)},
             {"graph_gap_ps", StrCat(gpu.graph_gap.ps)}});
}

void TimingService::LeaveUnmeasured(const std::string& definition, Unmeasured kind,
                                    const std::string& reason, Question& question) {
  question.provisional = IsTransient(kind);
  metrics_.CountUnmeasured(kind);
  std::string name = workload::DisplayName(BytesOf(definition));
  const std::lock_guard lock(reported_mutex_);
  if (unmeasured_.size() >= kReportedNamesMax || !unmeasured_.insert(name).second) return;
  name.resize(std::min(name.size(), kLoggedNameMax));
  base::Log(base::Level::kWarning, "not_measured", {{"name", name}, {"reason", reason}});
}

void TimingService::Report(const std::string& definition, const model::Estimate& estimate) {
  if (estimate.source != estimate::Source::kAssumed) return;
  std::string name = workload::DisplayName(BytesOf(definition));
  const std::lock_guard lock(reported_mutex_);
  if (reported_.size() >= kReportedNamesMax || !reported_.insert(name).second) return;
  name.resize(std::min(name.size(), kLoggedNameMax));
  base::Log(base::Level::kInfo, "duration_assumed",
            {{"name", name},
             {"family", std::string(estimate.family)},
             {"duration_ps", StrCat(estimate.duration.ps)}});
}

grpc::Status TimingService::DescribeGpu(grpc::ServerContext* context,
                                        const v1::DescribeGpuRequest* request,
                                        v1::DescribeGpuResponse* response) {
  if (const auto admitted = Admit(context); !admitted.ok()) return admitted;
  const auto gpu = catalog_.Find(request->gpu());
  if (!gpu) return {grpc::StatusCode::INVALID_ARGUMENT, gpu.error().message};
  ToMessage(**gpu, *response->mutable_gpu());
  response->set_measures(Measures(**gpu));
  if (!(*gpu)->fixed) {
    response->set_code_wanted(counting_ == Counting::kAll ? v1::CODE_WANTED_ALL
                                                          : v1::CODE_WANTED_OTHERS);
  }
  return grpc::Status::OK;
}

grpc::Status TimingService::UploadModule(grpc::ServerContext* context,
                                         const v1::UploadModuleRequest* request,
                                         v1::UploadModuleResponse* /*response*/) {
  if (const auto admitted = Admit(context); !admitted.ok()) return admitted;
  if (auto added = counted_.AddCode(request->module_hash(), request->code()); !added) {
    return runtime::ToStatus(added.error());
  }
  if (backend_ == nullptr) return grpc::Status::OK;
  if (auto added = backend_->modules().Add(request->module_hash(), request->code()); !added) {
    return runtime::ToStatus(added.error());
  }
  return grpc::Status::OK;
}

grpc::Status TimingService::ListGpus(grpc::ServerContext* context,
                                     const v1::ListGpusRequest* /*request*/,
                                     v1::ListGpusResponse* response) {
  if (const auto admitted = Admit(context); !admitted.ok()) return admitted;
  for (const std::string& name : catalog_.names()) response->add_names(name);
  return grpc::Status::OK;
}

Result<void> TimingService::ImportProfile(std::string_view json_lines) {
  auto profile = profile::ParseProfile(json_lines);
  if (!profile) return std::unexpected(profile.error());
  if (auto gpu = catalog_.Find(profile->gpu); !gpu) return std::unexpected(gpu.error());
  if (auto added = profiles_->Add(*profile); !added) return added;
  answers_.Clear();
  metrics_.SetProfileRows(static_cast<double>(profiles_->row_count()));
  return {};
}

Result<std::string> TimingService::ExportProfile(const std::string& gpu) const {
  if (auto known = catalog_.Find(gpu); !known) return std::unexpected(known.error());
  return profile::FormatProfile(profiles_->Export(gpu));
}

}  // namespace eidolon::timing
