// Items per second: the estimator alone, and the whole way over gRPC in batches.
#include <benchmark/benchmark.h>
#include <grpcpp/create_channel.h>

#include "services/contract/workload/definition.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/timing/timing_service.h"

namespace eidolon::timing {
namespace {

v1::EstimateRequest Gemms(int count, int distinct) {
  v1::EstimateRequest request;
  request.set_gpu("H100-SXM5-80GB");
  request.set_layout_version(workload::kLayoutVersion);
  for (int i = 0; i < count; ++i) {
    const auto definition =
        workload::Definition(workload::Gemm{.m = 256 + static_cast<std::uint64_t>(i % distinct),
                                            .n = 4096,
                                            .k = 4096,
                                            .type_a = 14,
                                            .type_b = 14,
                                            .type_d = 14,
                                            .compute_type = 68});
    request.add_definitions(definition.data(), definition.size());
  }
  return request;
}

// range(0): items a batch; range(1): distinct items, 0 for a cold cache each time.
void OverGrpc(benchmark::State& state) {
  const base::SystemClock clock;
  runtime::MetricsPage page;
  auto service = *TimingService::Create({}, page.registry(), clock);
  auto server = *runtime::GrpcServer::Start({}, {service.get()});
  auto client = v1::TimingService::NewStub(
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  const int batch = static_cast<int>(state.range(0));
  const v1::EstimateRequest request = Gemms(batch, batch);
  for (auto _ : state) {
    grpc::ClientContext context;
    v1::EstimateResponse response;
    if (!client->Estimate(&context, request, &response).ok()) state.SkipWithError("call failed");
    benchmark::DoNotOptimize(response);
  }
  state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(OverGrpc)->Arg(1)->Arg(64)->Arg(1024)->Arg(8192)->UseRealTime();

void EstimatorMiss(benchmark::State& state) {
  const auto catalog = *gpu_model::GpuCatalog::Load("");
  const gpu_model::GpuModel& gpu = **catalog.Find("H100-SXM5-80GB");
  model::Estimator estimator(nullptr);
  kernel::Gemm gemm{.m = 1000, .n = 4096, .k = 4096, .type_a = 14, .type_b = 14, .type_d = 14};
  for (auto _ : state) {
    ++gemm.m;
    benchmark::DoNotOptimize(estimator.Of(gpu, gemm));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(EstimatorMiss);

}  // namespace
}  // namespace eidolon::timing
