// Commit latency over loopback: from the last Horizon message to the Committed that it allows. And
// the speed of the simulation alone.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
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

// One server's session; all ranks are in one communicator.
struct Agent {
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream;
  std::int32_t first_rank = 0;
  std::uint64_t communicator = 0;
  std::uint64_t processed = 0;

  void Call(std::int32_t rank, std::uint64_t sequence, std::uint64_t ready) {
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

v1::RegisterJobRequest JobRequest(std::uint32_t servers) {
  v1::RegisterJobRequest request;
  request.set_job("bench");
  auto& cluster = *request.mutable_cluster();
  cluster.set_name("c");
  cluster.set_servers(servers);
  cluster.set_gpus_per_server(8);
  cluster.set_gpu("H100-SXM5-80GB");
  cluster.mutable_nvlink()->set_generation(4);
  cluster.mutable_nvlink()->set_switched(true);
  cluster.mutable_nics()->set_count(8);
  cluster.mutable_nics()->set_gigabits_per_second(400);
  cluster.mutable_fabric()->set_preset("rail-optimised");
  for (std::uint32_t server = 0; server < servers; ++server) request.add_placement(server);
  return request;
}

// The service on loopback, and one session for each server of a registered job.
class Conversation {
 public:
  Conversation(std::uint32_t servers, std::uint32_t ranks_per_server)
      : service_(page_.registry(), clock_, {}) {
    auto server = runtime::GrpcServer::Start({}, {&service_});
    Must(server.has_value(), "starting the server");
    server_.emplace(std::move(*server));
    stub_ = v1::NetworkService::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::RegisterJobResponse response;
    Must(stub_->RegisterJob(&context, JobRequest(servers), &response).ok(), "registering");
    agents_ = std::vector<Agent>(servers);
    for (std::uint32_t at = 0; at < servers; ++at) Open(at, servers, ranks_per_server);
    for (Agent& agent : agents_) {
      for (std::uint32_t rank = 0; rank < ranks_per_server; ++rank) {
        agent.communicator = agent.Read().joined().communicator();
      }
    }
  }
  ~Conversation() {
    for (Agent& agent : agents_) {
      agent.stream->WritesDone();
      v1::SessionResponse response;
      while (agent.stream->Read(&response)) {
      }
      agent.stream->Finish();
    }
  }

  std::vector<Agent>& agents() { return agents_; }

 private:
  void Open(std::uint32_t at, std::uint32_t servers, std::uint32_t ranks_per_server) {
    Agent& agent = agents_[at];
    agent.first_rank = static_cast<std::int32_t>(at * ranks_per_server);
    agent.stream = stub_->Session(&agent.context);
    v1::SessionRequest request;
    request.mutable_hello()->set_job("bench");
    request.mutable_hello()->set_server(at);
    agent.stream->Write(request);
    for (std::uint32_t device = 0; device < ranks_per_server; ++device) {
      auto& join = *request.mutable_join();
      join.set_request(device);
      join.set_unique_id("id");
      join.set_size(static_cast<std::int32_t>(servers * ranks_per_server));
      join.set_rank(agent.first_rank + static_cast<std::int32_t>(device));
      join.mutable_member()->set_global_rank(join.rank());
      join.mutable_member()->set_server(at);
      join.mutable_member()->set_device(device);
      agent.stream->Write(request);
    }
  }

  runtime::MetricsPage page_;
  const base::SystemClock clock_;
  NetworkService service_;
  std::optional<runtime::GrpcServer> server_;
  std::unique_ptr<v1::NetworkService::Stub> stub_;
  std::vector<Agent> agents_;
};

void CommitLatency(benchmark::State& state) {
  Conversation conversation(2, 1);
  std::vector<Agent>& agents = conversation.agents();
  const base::SystemClock clock;
  std::uint64_t sequence = 0;
  std::uint64_t ready = std::uint64_t{1} << 40;
  std::vector<double> micros;
  for (auto _ : state) {
    for (Agent& agent : agents) agent.Call(agent.first_rank, sequence, ready);
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
}
BENCHMARK(CommitLatency)->UseManualTime()->Iterations(3000);

// Messages through the service, both directions, when every rank of so many servers with 8 each
// calls one collective after another. One client thread plays all agents.
void Messages(benchmark::State& state) {
  constexpr std::uint32_t kRanks = 8;
  const auto servers = static_cast<std::uint32_t>(state.range(0));
  Conversation conversation(servers, kRanks);
  std::uint64_t sequence = 0;
  std::uint64_t ready = std::uint64_t{1} << 40;
  for (auto _ : state) {
    for (Agent& agent : conversation.agents()) {
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        agent.Call(agent.first_rank + static_cast<std::int32_t>(rank), sequence, ready);
      }
      agent.Promise();
    }
    for (Agent& agent : conversation.agents()) {
      ready = agent.Read().committed().finish_picoseconds() + 1'000'000;
    }
    ++sequence;
  }
  // A call and a post for each rank, a promise and an answer for each server.
  state.SetItemsProcessed(static_cast<std::int64_t>(sequence) * servers * 2 * (kRanks + 1));
}
BENCHMARK(Messages)->Arg(16)->Arg(128)->UseRealTime()->Unit(benchmark::kMillisecond);

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
