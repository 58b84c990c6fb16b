// The control thread and those of REST wait for these calls, so each has a deadline: a service that
// hangs costs seconds and not the controller. Reconnecting is fast and constant (200 ms), because
// gRPC's own back-off would leave a service that is back unused for up to two minutes. RegisterJob
// carries everything by which the network differs between jobs, NCCL's variables included, sorted
// so that equal jobs send equal requests. Failing to remove a job is only logged: nothing of the
// controller depends on it.
#include "services/controller/simulators/simulator_clients.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>

#include "eidolon/network/v1/network.grpc.pb.h"
#include "eidolon/timing/v1/timing.grpc.pb.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/contract/folding/wire/fold_message.h"
#include "services/controller/job/wire/cluster_message.h"
#include "services/runtime/grpc_status.h"

namespace eidolon::controller::simulators {
namespace {

constexpr int kTimeoutSeconds = 10;
// A service that starts again is found soon; gRPC's own pauses grow to two minutes.
constexpr int kReconnectMs = 200;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kOwnTokenSeconds = 300;
// Longer than jobs last; the network service forgets a job when it is over.
constexpr std::int64_t kJobTokenSeconds = 30 * 24 * 3600;

base::Result<void> ToResult(std::string_view service, const std::string& address,
                            const grpc::Status& status) {
  if (status.ok()) return {};
  return base::Wrap("asking the " + std::string(service) + " service at " + address,
                    runtime::FromStatus(status));
}

}  // namespace

struct SimulatorClients::Stubs {
  std::unique_ptr<timing::v1::TimingService::Stub> timing;
  std::unique_ptr<network::v1::NetworkService::Stub> network;
};

SimulatorClients::SimulatorClients(const std::string& timing_address,
                                   const std::string& network_address,
                                   std::optional<runtime::TokenIssuer> issuer,
                                   const base::RealClock& clock)
    : timing_address_(timing_address),
      network_address_(network_address),
      issuer_(std::move(issuer)),
      clock_(clock),
      stubs_(std::make_unique<Stubs>()) {
  const auto connect = [](const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
    // A name that did not exist yet is not asked for again for 30 s otherwise.
    arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kReconnectMs);
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  };
  stubs_->timing = timing::v1::TimingService::NewStub(connect(timing_address));
  // Without a network service only the timing service can be asked.
  stubs_->network = network::v1::NetworkService::NewStub(
      connect(network_address.empty() ? "127.0.0.1:0" : network_address));
}

SimulatorClients::~SimulatorClients() = default;

// A service that hangs must not hang the controller.
void SimulatorClients::Prepare(grpc::ClientContext* context) const {
  gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_REALTIME),
                                       gpr_time_from_seconds(kTimeoutSeconds, GPR_TIMESPAN));
  context->set_deadline(deadline);
  if (!issuer_) return;
  const std::int64_t expires = clock_.UnixNs() / kSecondNs + kOwnTokenSeconds;
  runtime::AttachToken(issuer_->Issue({.is_controller = true, .job = {}}, expires), context);
}

std::string SimulatorClients::MakeServiceToken(const std::string& job) {
  if (!issuer_) return {};
  return issuer_->Issue({.is_controller = false, .job = job},
                        clock_.UnixNs() / kSecondNs + kJobTokenSeconds);
}

base::Result<std::vector<std::string>> SimulatorClients::ListGpus() {
  grpc::ClientContext context;
  Prepare(&context);
  timing::v1::ListGpusResponse response;
  const auto done =
      ToResult("timing", timing_address_, stubs_->timing->ListGpus(&context, {}, &response));
  if (!done) return std::unexpected(done.error());
  return std::vector<std::string>(response.names().begin(), response.names().end());
}

base::Result<timing::v1::Gpu> SimulatorClients::DescribeGpu(const std::string& gpu) {
  grpc::ClientContext context;
  Prepare(&context);
  timing::v1::DescribeGpuRequest request;
  request.set_gpu(gpu);
  timing::v1::DescribeGpuResponse response;
  const auto done = ToResult("timing", timing_address_,
                             stubs_->timing->DescribeGpu(&context, request, &response));
  if (!done) return std::unexpected(done.error());
  return std::move(*response.mutable_gpu());
}

base::Result<double> SimulatorClients::FindPeakFlops(const std::string& gpu) {
  const auto described = DescribeGpu(gpu);
  if (!described) return std::unexpected(described.error());
  const auto& rates = described->peak_flops();
  const auto bf16 = rates.find("bf16");
  return bf16 == rates.end() ? 0.0 : bf16->second;
}

base::Result<void> SimulatorClients::RegisterJob(const std::string& job,
                                                 const job::ResolvedJob& resolved) {
  const job::ClusterSpec& cluster = resolved.cluster;
  const auto gpu = DescribeGpu(cluster.gpu);
  if (!gpu) return std::unexpected(gpu.error());
  grpc::ClientContext context;
  Prepare(&context);
  network::v1::RegisterJobRequest request;
  request.set_job(job);
  request.set_gpu_compute_major(gpu->compute_major());
  if (gpu->has_fixed()) {
    request.mutable_fixed_transfer()->set_picoseconds(gpu->fixed().transfer_picoseconds());
    request.mutable_fixed_transfer()->set_bytes_per_second(
        gpu->fixed().transfer_bytes_per_second());
  }
  job::wire::FillCluster(cluster, job, request.mutable_cluster());
  for (std::uint32_t server = 0; server < resolved.servers; ++server) {
    request.add_placement(server);
  }
  if (resolved.fold.is_folded()) {
    *request.mutable_folding() = folding::ToProto(resolved.fold);
    request.set_ranks_per_server(resolved.ranks_per_server);
  }
  job::wire::FillFabric(cluster, &request);
  if (const job::ReplaySpec& replay = resolved.spec.replay; replay.communication_factor != 1) {
    request.set_transfer_permille(job::Permille(replay.communication_factor));
  }
  const std::map<std::string, std::string> sorted(resolved.spec.environment.begin(),
                                                  resolved.spec.environment.end());
  for (const auto& [name, value] : sorted) {
    if (name.starts_with("NCCL_")) request.add_environment(base::StrCat(name, "=", value));
  }
  network::v1::RegisterJobResponse response;
  return ToResult("network", network_address_,
                  stubs_->network->RegisterJob(&context, request, &response));
}

void SimulatorClients::RemoveJob(const std::string& job) {
  grpc::ClientContext context;
  Prepare(&context);
  network::v1::RemoveJobRequest request;
  request.set_job(job);
  network::v1::RemoveJobResponse response;
  const auto done = ToResult("network", network_address_,
                             stubs_->network->RemoveJob(&context, request, &response));
  if (!done) {
    base::Log(base::Level::kWarning, "network_job_not_removed",
              {{"job", job}, {"error", done.error().message}});
  }
}

}  // namespace eidolon::controller::simulators
