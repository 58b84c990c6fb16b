// The timing service: durations of work items in batches, and facts of GPU models. Runs in a
// process of its own or inside the `eidolon` command; it knows nothing of streams, ranks or jobs.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "eidolon/timing/v1/timing.grpc.pb.h"
#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/runtime/token.h"
#include "services/timing/answer_cache.h"
#include "services/timing/count/counted_kernels.h"
#include "services/timing/gpu_backend.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/model/estimator.h"
#include "services/timing/profile/profile_cache.h"
#include "services/timing/timing_metrics.h"

namespace eidolon::timing {

// Kernels whose times follow from counting what their code executes.
enum class Counting {
  kAssumed,  // Those that no model knows.
  kAll,      // Every one that can be counted and that was not measured: to test counting.
};

struct TimingOptions {
  // Folder with the user's GPU model files; empty: the built-in ones only.
  std::string gpu_model_directory;
  // SQLite file of measured durations; empty: none is kept.
  std::string profile_file;
  std::size_t cache_entries_max = std::size_t{1} << 20;
  Counting counting = Counting::kAssumed;
  // Folder where counts are kept for other processes; empty: none.
  std::string count_folder;
  // Measuring on a GPU of this machine. Without a driver or a GPU the models answer.
  GpuBackendOptions gpu;
  // Gate that decides which calls are answered.
  runtime::TokenGate gate;
};

// Thread safe. The registry and the clock outlive it.
class TimingService final : public v1::TimingService::Service {
 public:
  // Fails on a wrong GPU model file or a profile folder that cannot be written.
  static base::Result<std::unique_ptr<TimingService>> Create(const TimingOptions& options,
                                                             prometheus::Registry& registry,
                                                             const base::RealClock& clock);

  grpc::Status Estimate(grpc::ServerContext* context, const v1::EstimateRequest* request,
                        v1::EstimateResponse* response) override;
  grpc::Status DescribeGpu(grpc::ServerContext* context, const v1::DescribeGpuRequest* request,
                           v1::DescribeGpuResponse* response) override;
  grpc::Status ListGpus(grpc::ServerContext* context, const v1::ListGpusRequest* request,
                        v1::ListGpusResponse* response) override;
  grpc::Status UploadModule(grpc::ServerContext* context, const v1::UploadModuleRequest* request,
                            v1::UploadModuleResponse* response) override;

  bool owns_gpu() const { return backend_ != nullptr; }
  // Returns whether work of this GPU model is measured here.
  bool Measures(const gpu_model::GpuModel& gpu) const {
    return backend_ != nullptr && !gpu.fixed && backend_->Owns(gpu);
  }

  // Adds measured durations, in the form of profile/profile.h.
  base::Result<void> ImportProfile(std::string_view json_lines);
  // Returns what is known of a GPU model, in the same form.
  base::Result<std::string> ExportProfile(const std::string& gpu) const;

 private:
  TimingService(gpu_model::GpuCatalog catalog, std::unique_ptr<profile::ProfileCache> profiles,
                const TimingOptions& options, prometheus::Registry& registry,
                const base::RealClock& clock);

  // Any token of the controller will do: how long a kernel takes is not secret between jobs.
  grpc::Status Admit(const grpc::ServerContext* context) const;

  // One batch of questions while it is answered.
  struct Question;
  // GPU whose times are requested.
  struct AskedGpu;
  // The status says what is wrong with the request.
  grpc::Status FindGpu(const v1::EstimateRequest& request, AskedGpu& gpu) const;
  grpc::Status Read(const v1::EstimateRequest& request, const AskedGpu& gpu,
                    std::vector<Question>& questions, TimingMetrics::Batch& batch);
  void Answer(const std::string& definition, const AskedGpu& gpu, Question& question);
  // Returns whether counting would answer better than the model did.
  bool MayCount(const gpu_model::GpuModel& gpu, const kernel::WorkItem& work,
                const model::Estimate& modelled) const;
  // True when code must come first, so that kernels can be counted: the response names it.
  bool WantsCode(const v1::EstimateRequest& request, const gpu_model::GpuModel& gpu,
                 const std::vector<Question>& questions, v1::EstimateResponse& response);
  // Measures what has no measurement; refusals are answered by the model afterwards. True when
  // modules must come first: the response names them.
  bool WantsModules(const v1::EstimateRequest& request, const std::vector<Question>& questions,
                    v1::EstimateResponse& response) const;
  grpc::Status MeasureAll(const grpc::ServerContext* context, const v1::EstimateRequest& request,
                          const gpu_model::GpuModel& gpu, std::vector<Question>& questions);
  void Keep(const gpu_model::GpuModel& gpu, const kernel::WorkItem& work,
            const v1::ReplayResult& result);
  void ReportBelowGap(const gpu_model::GpuModel& gpu, base::Duration between);
  // Counts and logs it; the model's answer is kept only where it is final.
  void LeaveUnmeasured(const std::string& definition, Unmeasured kind, const std::string& reason,
                       Question& question);

  // Writes one log line for each kernel name that no rule knows.
  void Report(const std::string& definition, const model::Estimate& estimate);

  const runtime::TokenGate gate_;
  const Counting counting_;
  const gpu_model::GpuCatalog catalog_;
  const std::unique_ptr<profile::ProfileCache> profiles_;
  const base::RealClock& clock_;
  model::Estimator estimator_;
  count::CountedKernels counted_;
  AnswerCache answers_;
  TimingMetrics metrics_;
  std::mutex reported_mutex_;
  std::set<std::string> reported_;
  std::set<std::string> unmeasured_;     // Likewise guarded.
  std::unique_ptr<GpuBackend> backend_;  // Null: nothing is measured.
};

}  // namespace eidolon::timing
