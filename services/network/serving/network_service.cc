// Every call first shows that its token may speak for the job, and the refusal is the same whether
// the job exists or not. Registering and removing repeat safely, because the caller may have lost
// an answer: the same content again is fine, and other content is an error. Two jobs share a fabric
// only when their requests describe an equal one that can run short, and when no job on it uses
// their servers: a fabric of one's own needs no horizon in common with others.
#include "services/network/serving/network_service.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/contract/folding/wire/fold_message.h"
#include "services/network/serving/translate.h"
#include "services/runtime/grpc_status.h"

namespace eidolon::network::serving {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

constexpr int kLinkNamesMax = 10'000;  // Of one answer.
constexpr std::uint64_t kFixedPicosecondsMax = 1'000'000'000'000;

grpc::Status StatusOf(const Result<void>& result) {
  return result ? grpc::Status::OK : runtime::ToStatus(result.error());
}

Result<std::vector<std::uint32_t>> PlacementOf(const v1::RegisterJobRequest& request) {
  const std::uint32_t servers = request.cluster().servers();
  std::set<std::uint32_t> taken;
  for (std::uint32_t position : request.placement()) {
    if (position >= servers) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("job '", request.job(), "' is placed on server ", position,
                         " of a cluster with ", servers));
    }
    if (!taken.insert(position).second) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("job '", request.job(), "' is placed on server ", position, " twice"));
    }
  }
  if (taken.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("job '", request.job(), "' is placed on no server"));
  }
  return std::vector<std::uint32_t>(request.placement().begin(), request.placement().end());
}

Result<communicator::JobPlan> PlanOf(const v1::RegisterJobRequest& request,
                                     const std::vector<std::uint32_t>& placement,
                                     collective::Tuning tuning) {
  auto fold = folding::FromProto(request.folding());
  if (!fold) return std::unexpected(fold.error());
  const std::uint64_t ranks = std::uint64_t{request.ranks_per_server()} * placement.size();
  if (fold->is_folded() && fold->ranks() != ranks) {
    return Fail(ErrorCode::kInvalidArgument, StrCat("job '", request.job(), "' folds ",
                                                    fold->ranks(), " ranks and has ", ranks));
  }
  if (request.has_fixed_transfer()) {
    const v1::FixedTransfer& fixed = request.fixed_transfer();
    if (fixed.bytes_per_second() == 0 || fixed.picoseconds() > kFixedPicosecondsMax) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("job '", request.job(),
                         "': fixed transfers have no rate, or last longer than a second"));
    }
    tuning.fixed = {.latency = {static_cast<std::int64_t>(fixed.picoseconds())},
                    .bytes_per_second = fixed.bytes_per_second()};
  }
  return communicator::JobPlan{
      .placement = placement,
      .tuning = std::move(tuning),
      .fold = std::move(*fold),
      .ranks_per_server = request.ranks_per_server(),
      .transfer_permille = request.has_transfer_permille()
                               ? request.transfer_permille()
                               : communicator::JobPlan{}.transfer_permille};
}

// What jobs must have in common to share a fabric.
std::string FabricOf(const v1::RegisterJobRequest& request) {
  v1::RegisterJobRequest fabric;
  *fabric.mutable_cluster() = request.cluster();
  *fabric.mutable_faults() = request.faults();
  *fabric.mutable_background() = request.background();
  fabric.set_spines(request.spines());
  *fabric.mutable_plan() = request.plan();
  fabric.set_gpu_compute_major(request.gpu_compute_major());
  return fabric.SerializeAsString();
}

}  // namespace

NetworkService::NetworkService(prometheus::Registry& registry, const base::RealClock& clock,
                               runtime::TokenGate gate)
    : metrics_(registry), clock_(clock), gate_(std::move(gate)) {}

NetworkService::~NetworkService() = default;

std::shared_ptr<ClusterThread> NetworkService::Shared(
    const std::string& cluster, const std::vector<std::uint32_t>& placement) const {
  for (const auto& [name, job] : jobs_) {
    if (job.cluster != cluster) continue;
    const auto meets = [&](const Registered& other) {
      return other.place.cluster == job.place.cluster &&
             std::any_of(placement.begin(), placement.end(), [&](std::uint32_t position) {
               return std::find(other.placement.begin(), other.placement.end(), position) !=
                      other.placement.end();
             });
    };
    const bool overlaps = std::any_of(jobs_.begin(), jobs_.end(),
                                      [&](const auto& entry) { return meets(entry.second); });
    if (!overlaps) return job.place.cluster;
  }
  return nullptr;
}

Result<void> NetworkService::Register(const v1::RegisterJobRequest& request) {
  if (request.job().empty()) return Fail(ErrorCode::kInvalidArgument, "a job without a name");
  auto placement = PlacementOf(request);
  if (!placement) return std::unexpected(placement.error());
  auto topology = topology::Topology::Make(FromProto(request));
  if (!topology) {
    return base::Wrap(StrCat("cluster '", request.cluster().name(), "'"), topology.error());
  }
  std::map<std::string, std::string> environment;
  for (const std::string& setting : request.environment()) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos) continue;
    environment[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  auto tuning = collective::ParseTuning(environment);
  if (!tuning) return std::unexpected(tuning.error());
  for (const std::string& variable : tuning->unmodelled) {
    base::Log(base::Level::kWarning, "nccl_variable_without_effect",
              {{"job", request.job()}, {"variable", variable}});
  }
  auto plan = PlanOf(request, *placement, std::move(*tuning));
  if (!plan) return std::unexpected(plan.error());
  const std::string content = request.SerializeAsString();
  const std::lock_guard lock(jobs_mutex_);
  if (const auto known = jobs_.find(request.job()); known != jobs_.end()) {
    if (known->second.content == content) return {};
    return Fail(ErrorCode::kAlreadyExists,
                StrCat("job '", request.job(), "' is registered with other content"));
  }
  // Jobs on separate servers meet only where the fabric can be short.
  const bool sharing =
      topology->wiring().cluster.oversubscription > 1 || topology->fabric().Blocks();
  const std::string cluster = sharing ? FabricOf(request) : std::string();
  auto thread = sharing ? Shared(cluster, *placement) : nullptr;
  if (!thread) thread = std::make_shared<ClusterThread>(std::move(*topology), metrics_, clock_);
  const std::uint64_t number = next_job_++;
  // Under the lock, so that no session of the job comes before it.
  thread->AddJob(number, std::move(*plan));
  jobs_[request.job()] = {.content = content,
                          .cluster = cluster,
                          .placement = std::move(*placement),
                          .place = {.cluster = thread, .job = number}};
  base::Log(base::Level::kInfo, "job_registered",
            {{"job", request.job()}, {"servers", std::to_string(request.placement_size())}});
  return {};
}

Result<JobPlace> NetworkService::FindJob(const std::string& name) {
  const std::lock_guard lock(jobs_mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) {
    return Fail(ErrorCode::kNotFound, StrCat("job '", name, "' is not registered"));
  }
  return found->second.place;
}

grpc::Status NetworkService::Admit(const grpc::ServerContextBase* context,
                                   const std::string& job) const {
  runtime::Caller caller;
  if (auto admitted = gate_.Admit(context, &caller); !admitted.ok()) return admitted;
  const bool allowed = job.empty() ? caller.is_controller : caller.MaySpeakFor(job);
  // The same words whether the job exists or not.
  return allowed ? grpc::Status::OK : NotTheirJob();
}

grpc::Status NetworkService::RegisterJob(grpc::ServerContext* context,
                                         const v1::RegisterJobRequest* request,
                                         v1::RegisterJobResponse*) {
  if (auto admitted = Admit(context, ""); !admitted.ok()) return admitted;
  return StatusOf(Register(*request));
}

grpc::Status NetworkService::RemoveJob(grpc::ServerContext* context,
                                       const v1::RemoveJobRequest* request,
                                       v1::RemoveJobResponse*) {
  if (auto admitted = Admit(context, ""); !admitted.ok()) return admitted;
  JobPlace place;
  {
    const std::lock_guard lock(jobs_mutex_);
    auto node = jobs_.extract(request->job());
    // Removing twice is fine: the caller may have lost an answer.
    if (node.empty()) return grpc::Status::OK;
    place = node.mapped().place;
  }
  place.cluster->RemoveJob(place.job);
  base::Log(base::Level::kInfo, "job_removed", {{"job", request->job()}});
  return grpc::Status::OK;
}

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* NetworkService::Session(
    grpc::CallbackServerContext* context) {
  runtime::Caller caller;
  const auto admitted = gate_.Admit(context, &caller);
  if (!admitted.ok()) return SessionStream::Refuse(admitted);
  return SessionStream::Begin(std::move(caller),
                              [this](const std::string& name) { return FindJob(name); });
}

grpc::Status NetworkService::EstimateCollective(grpc::ServerContext* context,
                                                const v1::EstimateCollectiveRequest* request,
                                                v1::EstimateCollectiveResponse* response) {
  if (auto admitted = Admit(context, request->job()); !admitted.ok()) return admitted;
  const auto place = FindJob(request->job());
  if (!place) return runtime::ToStatus(place.error());
  const auto operation = FromProto(request->operation());
  if (!operation) return runtime::ToStatus(operation.error());
  const auto cost = place->cluster->Estimate(place->job, request->communicator(), *operation);
  if (!cost) return runtime::ToStatus(cost.error());
  *response = ToProto(*cost);
  return grpc::Status::OK;
}

grpc::Status NetworkService::ReadLinkNames(grpc::ServerContext* context,
                                           const v1::ReadLinkNamesRequest* request,
                                           v1::ReadLinkNamesResponse* response) {
  if (auto admitted = Admit(context, request->job()); !admitted.ok()) return admitted;
  const auto place = FindJob(request->job());
  if (!place) return runtime::ToStatus(place.error());
  if (request->links_size() > kLinkNamesMax) {
    return {grpc::StatusCode::INVALID_ARGUMENT,
            StrCat(request->links_size(), " links, more than the ", kLinkNamesMax,
                   " that are named at once")};
  }
  const std::vector<topology::LinkIndex> links(request->links().begin(), request->links().end());
  for (std::string& name : place->cluster->ReadLinkNames(links)) {
    response->add_names(std::move(name));
  }
  return grpc::Status::OK;
}

grpc::Status NetworkService::ReadLinkLoads(grpc::ServerContext* context,
                                           const v1::ReadLinkLoadsRequest* request,
                                           v1::ReadLinkLoadsResponse* response) {
  if (auto admitted = Admit(context, request->job()); !admitted.ok()) return admitted;
  const auto place = FindJob(request->job());
  if (!place) return runtime::ToStatus(place.error());
  const auto loads =
      place->cluster->ReadLoads(place->job, request->server(), Time(request->from_picoseconds()),
                                Time(request->to_picoseconds()));
  if (!loads) return runtime::ToStatus(loads.error());
  *response = ToProto(*loads);
  return grpc::Status::OK;
}

}  // namespace eidolon::network::serving
