// Commit latency over loopback: from the last Horizon message to the Committed that it allows. And
// the speed of the simulation alone.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>

#include "services/base/clock.h"
#include "services/network/serving/network_service.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"

namespace eidolon::network::serving {
namespace {

using simulation::Listener;
using simulation::Simulation;

void Must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "network_bench: %s failed\n", what);
  std::abort();
}

using Stream = grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>;

// One server's session; what it says goes out with its promise, as an agent's turn does. Every
// member of its communicators calls one collective after another.
struct Agent {
  grpc::ClientContext context;
  std::unique_ptr<v1::NetworkService::Stub> stub;  // Nothing: that of all.
  std::unique_ptr<Stream> stream;
  std::vector<std::uint64_t> communicators;
  std::vector<std::int32_t> ranks;  // In them.
  std::uint64_t processed = 0;

  // Messages that are sent in one turn, and read at once.
  std::unique_ptr<google::protobuf::Arena> memory = std::make_unique<google::protobuf::Arena>();
  v1::SessionRequest* request =
      google::protobuf::Arena::CreateMessage<v1::SessionRequest>(&*memory);

  void Call(std::uint64_t sequence, std::uint64_t ready) {
    for (std::size_t gpu = 0; gpu < communicators.size(); ++gpu) {
      auto& issue = *request->mutable_batch()->add_requests()->mutable_issue();
      issue.set_communicator(communicators[gpu]);
      issue.set_sequence(sequence);
      issue.set_rank(ranks[gpu]);
      auto& operation = *issue.mutable_operation();
      operation.set_kind(v1::COLLECTIVE_KIND_ALL_REDUCE);
      operation.set_data_type(7);
      operation.set_count(1 << 20);
      operation.set_size_bytes(4 << 20);
      auto& post = *request->mutable_batch()->add_requests()->mutable_post();
      post.set_communicator(communicators[gpu]);
      post.set_sequence(sequence);
      post.set_rank(ranks[gpu]);
      post.set_ready_picoseconds(ready);
    }
  }

  void Promise() {
    auto& promise = *request->mutable_batch()->add_requests()->mutable_horizon();
    promise.set_lower_bound_picoseconds(~std::uint64_t{0});
    promise.set_processed(processed);
    stream->Write(*request);
    memory->Reset();
    request = google::protobuf::Arena::CreateMessage<v1::SessionRequest>(&*memory);
  }

  // Reads until so many messages have come; the finish of the last that is committed.
  std::uint64_t Read(std::size_t messages) {
    std::uint64_t finish = 0;
    while (messages > 0) {
      google::protobuf::Arena arena;
      auto& response = *google::protobuf::Arena::CreateMessage<v1::SessionResponse>(&arena);
      Must(stream->Read(&response), "reading a session");
      const int parts = response.has_batch() ? response.batch().responses_size() : 1;
      for (int at = 0; at < parts; ++at, --messages, ++processed) {
        const v1::SessionResponse& part =
            response.has_batch() ? response.batch().responses(at) : response;
        if (part.has_joined())
          communicators[part.joined().request()] = part.joined().communicator();
        Must(part.has_joined() || part.has_committed(), "a join or a commit");
        finish = part.committed().finish_picoseconds();
      }
    }
    return finish;
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

// Groups of which a GPU is a member.
struct Groups {
  // One GPU of each of so many servers that follow each other; 0: all GPUs of all servers.
  std::uint32_t ring = 0;
  std::uint32_t each = 1;  // So many communicators of the same members.
};

// The service on loopback, and one session for each server of a registered job.
class Conversation {
 public:
  Conversation(std::uint32_t servers, std::uint32_t ranks_per_server, Groups groups = {})
      : groups_(groups), service_(page_.registry(), clock_, {}) {
    auto server = runtime::GrpcServer::Start({}, {&service_});
    Must(server.has_value(), "starting the server");
    server_.emplace(std::move(*server));
    stub_ = Stub();
    grpc::ClientContext context;
    v1::RegisterJobResponse response;
    Must(stub_->RegisterJob(&context, JobRequest(servers), &response).ok(), "registering");
    agents_ = std::vector<Agent>(servers);
    for (std::uint32_t at = 0; at < servers; ++at) Open(at, servers, ranks_per_server);
    for (Agent& agent : agents_) agent.Read(std::size_t{ranks_per_server} * groups_.each);
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
  // Connects by a connection of its own.
  std::unique_ptr<v1::NetworkService::Stub> Stub() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::NetworkService::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), arguments));
  }

  void Open(std::uint32_t at, std::uint32_t servers, std::uint32_t ranks_per_server) {
    Agent& agent = agents_[at];
    if (groups_.ring == 0) agent.stub = Stub();
    agent.stream = (agent.stub ? agent.stub : stub_)->Session(&agent.context);
    v1::SessionRequest hello;
    hello.mutable_hello()->set_job("bench");
    hello.mutable_hello()->set_server(at);
    agent.stream->Write(hello);
    const std::uint32_t ring = groups_.ring;
    const std::uint32_t count = ranks_per_server * groups_.each;
    agent.communicators.resize(count);
    for (std::uint32_t number = 0; number < count; ++number) {
      const std::uint32_t device = number / groups_.each;
      const std::uint32_t rank = ring > 0 ? at % ring : at * ranks_per_server + device;
      agent.ranks.push_back(static_cast<std::int32_t>(rank));
      auto& join = *agent.request->mutable_batch()->add_requests()->mutable_join();
      join.set_request(number);
      join.set_unique_id(
          std::to_string(ring > 0 ? at / ring * count + number : number % groups_.each));
      join.set_size(static_cast<std::int32_t>(ring > 0 ? ring : servers * ranks_per_server));
      join.set_rank(agent.ranks.back());
      join.mutable_member()->set_global_rank(
          static_cast<std::int32_t>(at * ranks_per_server + device));
      join.mutable_member()->set_server(at);
      join.mutable_member()->set_device(device);
    }
    agent.Promise();
  }

  const Groups groups_;
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
    for (Agent& agent : agents) agent.Call(sequence, ready);
    agents[1].Promise();
    const std::int64_t before = clock.MonotonicNs();
    agents[0].Promise();
    const std::uint64_t finish = agents[0].Read(1);
    const auto ns = static_cast<double>(clock.MonotonicNs() - before);
    state.SetIterationTime(ns * 1e-9);
    micros.push_back(ns * 1e-3);
    agents[1].Read(1);
    ready = finish + 1'000'000;
    ++sequence;
  }
  std::sort(micros.begin(), micros.end());
  state.counters["median_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
}
BENCHMARK(CommitLatency)->UseManualTime()->Iterations(3000);

// Rings of 32 GPUs, so many for each NIC and group of 32 servers, that all reduce once a round,
// through the service: several are what a server says in one turn when its host runs ahead. One
// client thread plays all agents. An event is the arrival or the end of a ring's flow from a NIC
// to the next, as in the benchmark of the flow engine: two for each GPU, ring and round; that is
// also the number of calls and posts.
void RailRings(benchmark::State& state) {
  constexpr std::uint32_t kGpus = 8;
  const auto servers = static_cast<std::uint32_t>(state.range(0));
  const auto rings = static_cast<std::uint32_t>(state.range(1));
  Conversation conversation(servers, kGpus, {.ring = 32, .each = rings});
  std::uint64_t sequence = 0;
  std::uint64_t ready = std::uint64_t{1} << 40;
  const std::clock_t before = std::clock();
  for (auto _ : state) {
    for (Agent& agent : conversation.agents()) {
      agent.Call(sequence, ready);
      agent.Promise();
    }
    for (Agent& agent : conversation.agents()) ready = agent.Read(kGpus * rings) + 1'000'000;
    ++sequence;
  }
  const double processor =
      static_cast<double>(std::clock() - before) / static_cast<double>(CLOCKS_PER_SEC);
  const auto events = static_cast<double>(sequence * servers * kGpus * rings * 2);
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
  // This is the time of both ends together.
  state.counters["processor_ns_per_event"] = processor * 1e9 / events;
}
BENCHMARK(RailRings)
    ->Args({64, 1})
    ->Args({1024, 1})
    ->Args({1024, 8})
    ->Args({12288, 1})
    ->Args({12288, 8})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Messages through the service, both directions, when every rank of so many servers with 8 each
// calls one collective of all ranks after another. One client thread plays all agents.
void Messages(benchmark::State& state) {
  constexpr std::uint32_t kRanks = 8;
  const auto servers = static_cast<std::uint32_t>(state.range(0));
  Conversation conversation(servers, kRanks);
  std::uint64_t sequence = 0;
  std::uint64_t ready = std::uint64_t{1} << 40;
  for (auto _ : state) {
    for (Agent& agent : conversation.agents()) {
      agent.Call(sequence, ready);
      agent.Promise();
    }
    for (Agent& agent : conversation.agents()) ready = agent.Read(1) + 1'000'000;
    ++sequence;
  }
  // A call and a post for each rank, a promise and an answer for each server.
  state.SetItemsProcessed(static_cast<std::int64_t>(sequence) * servers * 2 * (kRanks + 1));
}
BENCHMARK(Messages)->Arg(16)->Arg(128)->UseRealTime()->Unit(benchmark::kMillisecond);

class Silent final : public Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t server, const communicator::Notice& notice) override {
    if (server >= told.size()) told.resize(server + 1);
    ++told[server];
    if (const auto* joined = std::get_if<communicator::JoinedNotice>(&notice)) {
      communicator = joined->communicator;
    }
  }
  void Ended(collective::Algorithm, collective::Protocol) override {}
  std::uint64_t communicator = 0;
  std::vector<std::uint64_t> told;  // Notices, by server.
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
  simulation.AddJob(1, {.placement = placement});
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

constexpr std::int32_t kExchangeRanks = 64;

// Every rank, 8 of each server, posts a group of one send to and one receive from every other.
void PostExchange(Simulation& simulation, std::uint64_t communicator, std::uint64_t sequence) {
  for (std::int32_t rank = 0; rank < kExchangeRanks; ++rank) {
    const auto server = static_cast<std::uint32_t>(rank / 8);
    communicator::Operation operation{.kind = collective::Kind::kPointToPoint};
    for (std::int32_t peer = 0; peer < kExchangeRanks; ++peer) {
      if (peer == rank) continue;
      const auto bytes = [](std::int32_t from, std::int32_t to) {
        return std::uint64_t{1'000'000} +
               static_cast<std::uint64_t>(from * 7919 + to * 104729) % 1'000'000;
      };
      operation.transfers.push_back(
          {.send = true, .peer = peer, .bytes = bytes(rank, peer), .sequence = sequence});
      operation.transfers.push_back(
          {.send = false, .peer = peer, .bytes = bytes(peer, rank), .sequence = sequence});
    }
    Must(simulation
             .Issue(1, server,
                    {.communicator = communicator,
                     .sequence = sequence,
                     .rank = rank,
                     .operation = std::move(operation)})
             .has_value(),
         "issuing");
    Must(simulation
             .Post(1, server,
                   {.communicator = communicator,
                    .sequence = sequence,
                    .rank = rank,
                    .point_to_point = true,
                    .ready = {static_cast<std::int64_t>(sequence + 1) * 1'000'000'000'000}})
             .has_value(),
         "posting");
  }
}

// What speculation could hide at most: the ranks of eight servers each send to and receive from all
// others of theirs in one group, sizes staggered, so that 4,032 transfers crowd the fabric. One
// rank keeps all others waiting; `engine_ms` is what is left to do when it is heard, in `requests`
// of which each wants the promises of those that the turn before told; `calls_ms` is what taking
// the calls cost the service, without sockets.
void Exchange(benchmark::State& state) {
  constexpr std::int32_t kRanks = kExchangeRanks;
  Silent listener;
  topology::Cluster cluster{.name = "c",
                            .servers = 8,
                            .gpus_per_server = 8,
                            .gpu = "H100",
                            .nvlink_generation = 4,
                            .nvlink_switched = true,
                            .nics = 8,
                            .nic_gigabits_per_second = 400,
                            .fabric = "rail-optimised"};
  Simulation simulation(*topology::Topology::Make(cluster), listener);
  simulation.AddJob(1, {.placement = {0, 1, 2, 3, 4, 5, 6, 7}});
  for (std::uint32_t server = 0; server < 8; ++server) {
    Must(simulation.Connect(1, server).has_value(), "connecting");
  }
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    const auto server = static_cast<std::uint32_t>(rank / 8);
    const communicator::Member member{
        .global_rank = rank, .server = server, .device = static_cast<std::uint32_t>(rank % 8)};
    Must(simulation.Join(1, server, "id", kRanks, {.member = member, .rank = rank}).has_value(),
         "joining");
  }
  const base::SystemClock clock;
  std::int64_t calls_ns = 0;
  std::int64_t engine_ns = 0;
  std::uint64_t requests = 0;
  std::uint64_t sequence = 0;
  for (auto _ : state) {
    const std::int64_t begin = clock.MonotonicNs();
    PostExchange(simulation, listener.communicator, sequence);
    const std::int64_t heard = clock.MonotonicNs();
    // Who hears of its end may act then, so that those who end later wait for its next promise.
    for (bool ended = false; !ended; ended = simulation.active_transfers() == 0) {
      for (std::uint32_t server = 0; server < 8; ++server) {
        Must(simulation
                 .Keep(1, server,
                       {.lower_bound = base::SimTime::Max(), .processed = listener.told[server]})
                 .has_value(),
             "promising");
      }
      simulation.Progress();
      ++requests;
    }
    calls_ns += heard - begin;
    engine_ns += clock.MonotonicNs() - heard;
    ++sequence;
  }
  const auto rounds = static_cast<double>(sequence);
  state.counters["requests"] = static_cast<double>(requests) / rounds;
  state.counters["engine_ms"] = static_cast<double>(engine_ns) / rounds * 1e-6;
  state.counters["calls_ms"] = static_cast<double>(calls_ns) / rounds * 1e-6;
}
BENCHMARK(Exchange)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eidolon::network::serving
