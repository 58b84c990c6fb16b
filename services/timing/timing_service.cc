#include "services/timing/timing_service.h"

#include <optional>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/runtime/grpc_status.h"
#include "services/timing/work_messages.h"

namespace eidolon::timing {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;

constexpr int kBatchMax = 100'000;
constexpr std::size_t kReportedNamesMax = 1000;
constexpr std::size_t kLoggedNameMax = 300;

// Identity of a question: the GPU and the bytes of the message, which are canonical because all
// fields are written in order by one version of one library.
base::Digest QuestionKey(const std::string& gpu, const v1::WorkItem& item, std::string& scratch) {
  scratch = gpu;
  scratch.push_back('\0');
  item.AppendToString(&scratch);
  return base::Hash128(scratch.data(), scratch.size());
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
      catalog_(std::move(catalog)),
      profiles_(std::move(profiles)),
      clock_(clock),
      estimator_(profiles_.get()),
      answers_(options.cache_entries_max),
      metrics_(registry) {
  metrics_.SetProfileRows(static_cast<double>(profiles_->row_count()));
}

grpc::Status TimingService::Admit(const grpc::ServerContext* context) const {
  runtime::Caller caller;
  return gate_.Admit(context, &caller);
}

grpc::Status TimingService::Estimate(grpc::ServerContext* context,
                                     const v1::EstimateRequest* request,
                                     v1::EstimateResponse* response) {
  if (const auto admitted = Admit(context); !admitted.ok()) return admitted;
  const std::int64_t begin = clock_.MonotonicNs();
  const auto gpu = catalog_.Find(request->gpu());
  if (!gpu) return {grpc::StatusCode::INVALID_ARGUMENT, gpu.error().message};
  if (request->items_size() > kBatchMax) {
    return {grpc::StatusCode::INVALID_ARGUMENT,
            StrCat("a batch of ", request->items_size(), " items is larger than ", kBatchMax)};
  }
  TimingMetrics::Batch batch;
  std::string scratch;
  response->mutable_estimates()->Reserve(request->items_size());
  for (int i = 0; i < request->items_size(); ++i) {
    const v1::WorkItem& item = request->items(i);
    const base::Digest key = QuestionKey(request->gpu(), item, scratch);
    std::optional<model::Estimate> answer = answers_.Find(key);
    if (answer) {
      ++batch.hits;
    } else {
      const auto work = FromMessage(item);
      if (!work) {
        return {grpc::StatusCode::INVALID_ARGUMENT,
                StrCat("items[", i, "]: ", work.error().message)};
      }
      ++batch.misses;
      answer = estimator_.Of(**gpu, *work);
      answers_.Add(key, *answer);
      Report(item, *answer);
    }
    ++batch.by_source[static_cast<std::size_t>(answer->source)];
    ToMessage(*answer, *response->add_estimates());
  }
  batch.seconds = static_cast<double>(clock_.MonotonicNs() - begin) * 1e-9;
  metrics_.Count(batch);
  if (batch.misses > 0) metrics_.SetCacheEntries(static_cast<double>(answers_.size()));
  return grpc::Status::OK;
}

void TimingService::Report(const v1::WorkItem& item, const model::Estimate& estimate) {
  if (estimate.source != model::Source::kAssumed) return;
  std::string name = item.has_kernel()    ? item.kernel().name()
                     : item.has_library() ? item.library().name()
                                          : std::string("dnn_graph");
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
