// Commit latency over loopback: from the last Horizon message to the Committed that it allows. And
// the speed of the simulation alone.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>

#include "services/base/clock.h"
#include "services/network/network_service.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"

namespace eidolon::network {
namespace {

void Must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "network_bench: %s failed\n", what);
  std::abort();
}

using Stream = grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>;

// One rank per server, joined in one communicator.
struct Agent {
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream;
  std::int32_t rank = 0;
  std::uint64_t communicator = 0;
  std::uint64_t processed = 0;

  void Call(std::uint64_t sequence, std::uint64_t ready) {
    v1::SessionRequest request;
    auto& issue = *request.mutable_issue();
    issue.set_communicator(communicator);
    issue.set_sequence(sequence);
    issue.set_rank(rank);
    auto& operation = *issue.mutable_operation();
    operation.set_kind(v1::COLLECTIVE_KIND_ALL_REDUCE);
    operation.set_data_type(7);
    operation.set_count(1 << 20);
    operation.set_size_bytes(4 << 20);
    stream->Write(request);
    request.mutable_post()->set_communicator(communicator);
    request.mutable_post()->set_sequence(sequence);
    request.mutable_post()->set_rank(rank);
    request.mutable_post()->set_ready_picoseconds(ready);
    stream->Write(request);
  }

  void Promise() {
    v1::SessionRequest request;
    request.mutable_horizon()->set_lower_bound_picoseconds(~std::uint64_t{0});
    request.mutable_horizon()->set_processed(processed);
    stream->Write(request);
  }

  v1::SessionResponse Read() {
    v1::SessionResponse response;
    Must(stream->Read(&response), "reading a session");
    if (response.has_committed() || response.has_joined()) ++processed;
    return response;
  }
};

v1::RegisterJobRequest JobRequest() {
  v1::RegisterJobRequest request;
  request.set_job("bench");
  auto& cluster = *request.mutable_cluster();
  cluster.set_name("c");
  cluster.set_servers(2);
  cluster.set_gpus_per_server(8);
  cluster.set_gpu("H100-SXM5-80GB");
  cluster.mutable_nvlink()->set_generation(4);
  cluster.mutable_nvlink()->set_switched(true);
  cluster.mutable_nics()->set_count(8);
  cluster.mutable_nics()->set_gigabits_per_second(400);
  cluster.mutable_fabric()->set_preset("rail-optimised");
  request.add_placement(0);
  request.add_placement(1);
  return request;
}

void CommitLatency(benchmark::State& state) {
  runtime::MetricsPage page;
  const base::SystemClock clock;
  NetworkService service(page.registry(), clock);
  auto server = runtime::GrpcServer::Start({}, {&service});
  Must(server.has_value(), "starting the server");
  const auto channel = grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials());
  const auto stub = v1::NetworkService::NewStub(channel);
  {
    grpc::ClientContext context;
    v1::RegisterJobResponse response;
    Must(stub->RegisterJob(&context, JobRequest(), &response).ok(), "registering");
  }
  std::vector<Agent> agents(2);
  for (std::uint32_t at : {0u, 1u}) {
    Agent& agent = agents[at];
    agent.rank = static_cast<std::int32_t>(at);
    agent.stream = stub->Session(&agent.context);
    v1::SessionRequest request;
    request.mutable_hello()->set_job("bench");
    request.mutable_hello()->set_server(at);
    agent.stream->Write(request);
    auto& join = *request.mutable_join();
    join.set_unique_id("id");
    join.set_size(2);
    join.set_rank(agent.rank);
    join.mutable_member()->set_server(at);
    agent.stream->Write(request);
  }
  for (Agent& agent : agents) agent.communicator = agent.Read().joined().communicator();

  std::uint64_t sequence = 0;
  std::uint64_t ready = std::uint64_t{1} << 40;
  std::vector<double> micros;
  for (auto _ : state) {
    for (Agent& agent : agents) agent.Call(sequence, ready);
    agents[1].Promise();
    const std::int64_t before = clock.MonotonicNs();
    agents[0].Promise();
    const v1::SessionResponse response = agents[0].Read();
    const auto ns = static_cast<double>(clock.MonotonicNs() - before);
    state.SetIterationTime(ns * 1e-9);
    micros.push_back(ns * 1e-3);
    agents[1].Read();
    ready = response.committed().finish_picoseconds() + 1'000'000;
    ++sequence;
  }
  std::sort(micros.begin(), micros.end());
  state.counters["median_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
  for (Agent& agent : agents) {
    agent.stream->WritesDone();
    v1::SessionResponse response;
    while (agent.stream->Read(&response)) {
    }
    agent.stream->Finish();
  }
}
BENCHMARK(CommitLatency)->UseManualTime()->Iterations(3000);

class Silent final : public Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t, const communicator::Notice& notice) override {
    if (const auto* joined = std::get_if<communicator::JoinedNotice>(&notice)) {
      communicator = joined->communicator;
    }
  }
  void Ended(collective::Algorithm, collective::Protocol) override {}
  std::uint64_t communicator = 0;
};

// Collectives a second of one communicator over `servers` servers with 8 ranks each, without
// sockets.
void Collectives(benchmark::State& state) {
  const auto servers = static_cast<std::uint32_t>(state.range(0));
  Silent listener;
  Simulation simulation(*topology::Topology::Make({.name = "c",
                                                   .servers = servers,
                                                   .gpus_per_server = 8,
                                                   .gpu = "H100",
                                                   .nvlink_generation = 4,
                                                   .nvlink_switched = true,
                                                   .nics = 8,
                                                   .nic_gigabits_per_second = 400,
                                                   .nic_latency_microseconds = 0,
                                                   .fabric = "rail-optimised",
                                                   .oversubscription = 1}),
                        listener);
  std::vector<std::uint32_t> placement(servers);
  for (std::uint32_t at = 0; at < servers; ++at) placement[at] = at;
  simulation.AddJob(1, placement);
  const auto size = static_cast<std::int32_t>(servers * 8);
  for (std::uint32_t server = 0; server < servers; ++server) {
    Must(simulation.Connect(1, server).has_value(), "connecting");
  }
  for (std::int32_t rank = 0; rank < size; ++rank) {
    const auto server = static_cast<std::uint32_t>(rank / 8);
    const communicator::Member member{
        .global_rank = rank, .server = server, .device = static_cast<std::uint32_t>(rank % 8)};
    Must(simulation.Join(1, server, "id", size, {.member = member, .rank = rank}).has_value(),
         "joining");
  }
  std::uint64_t sequence = 0;
  for (auto _ : state) {
    for (std::int32_t rank = 0; rank < size; ++rank) {
      const auto server = static_cast<std::uint32_t>(rank / 8);
      Must(simulation
               .Issue(1, server,
                      {.communicator = listener.communicator,
                       .sequence = sequence,
                       .rank = rank,
                       .operation = {.kind = collective::Kind::kAllReduce,
                                     .data_type = 7,
                                     .count = 1 << 20,
                                     .bytes = 4 << 20}})
               .has_value(),
           "issuing");
      Must(simulation
               .Post(1, server,
                     {.communicator = listener.communicator,
                      .sequence = sequence,
                      .rank = rank,
                      .ready = {static_cast<std::int64_t>(sequence + 1) * 1'000'000'000'000}})
               .has_value(),
           "posting");
    }
    for (std::uint32_t server = 0; server < servers; ++server) {
      Must(simulation
               .Keep(1, server, {.lower_bound = base::SimTime::Max(), .processed = 8 + sequence})
               .has_value(),
           "promising");
    }
    simulation.Progress();
    ++sequence;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sequence));
}
BENCHMARK(Collectives)->Arg(2)->Arg(32)->Arg(128);

}  // namespace
}  // namespace eidolon::network
