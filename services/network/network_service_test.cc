#include "services/network/network_service.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"

namespace eidolon::network {
namespace {

using testing::HasSubstr;

// Time that a test winds on.
class WoundClock final : public base::RealClock {
 public:
  std::int64_t MonotonicNs() const override { return now_; }
  std::int64_t UnixNs() const override { return now_; }
  void Wind(std::int64_t ns) { now_ += ns; }

 private:
  std::atomic<std::int64_t> now_ = 1;
};

// An agent of one rank, as the service sees it. Reads block until the message is there.
class FakeAgent {
 public:
  FakeAgent(v1::NetworkService::Stub& stub, const std::string& job, std::uint32_t server)
      : server_(server), stream_(stub.Session(&context_)) {
    v1::SessionRequest hello;
    hello.mutable_hello()->set_job(job);
    hello.mutable_hello()->set_server(server);
    stream_->Write(hello);
  }
  ~FakeAgent() { Leave(); }

  void Write(const v1::SessionRequest& request) { stream_->Write(request); }

  void Join(std::int32_t size) {
    v1::SessionRequest request;
    auto& join = *request.mutable_join();
    join.set_request(7);
    join.set_unique_id("id");
    join.set_size(size);
    join.set_rank(static_cast<std::int32_t>(server_));
    join.mutable_member()->set_global_rank(static_cast<std::int32_t>(server_) * 10);
    join.mutable_member()->set_server(server_);
    join.set_name("dp");
    Write(request);
  }

  // Waits until everyone has joined.
  void AwaitJoined() {
    const v1::SessionResponse response = Read();
    ASSERT_TRUE(response.has_joined()) << response.ShortDebugString();
    communicator_ = response.joined().communicator();
    ++processed_;
  }

  void Issue(std::uint64_t sequence, std::uint64_t count, const std::string& payload = "") {
    v1::SessionRequest request;
    auto& issue = *request.mutable_issue();
    issue.set_communicator(communicator_);
    issue.set_sequence(sequence);
    issue.set_rank(static_cast<std::int32_t>(server_));
    auto& operation = *issue.mutable_operation();
    operation.set_kind(v1::COLLECTIVE_KIND_ALL_REDUCE);
    operation.set_data_type(1);
    operation.set_root(-1);
    operation.set_count(count);
    operation.set_size_bytes(count);
    issue.set_payload(payload);
    issue.set_has_payload(!payload.empty());
    Write(request);
  }

  void Post(std::uint64_t sequence, std::uint64_t ready) {
    v1::SessionRequest request;
    request.mutable_post()->set_communicator(communicator_);
    request.mutable_post()->set_sequence(sequence);
    request.mutable_post()->set_rank(static_cast<std::int32_t>(server_));
    request.mutable_post()->set_ready_picoseconds(ready);
    Write(request);
  }

  void Promise(std::uint64_t bound, bool quiescent = false) {
    v1::SessionRequest request;
    request.mutable_horizon()->set_lower_bound_picoseconds(bound);
    request.mutable_horizon()->set_processed(processed_);
    request.mutable_horizon()->set_quiescent(quiescent);
    Write(request);
  }

  v1::SessionResponse Read() {
    v1::SessionResponse response;
    EXPECT_TRUE(stream_->Read(&response));
    if (response.has_committed()) ++processed_;
    return response;
  }

  // The end of the session, once everything was read.
  grpc::Status Status() {
    v1::SessionResponse response;
    while (stream_->Read(&response)) {
    }
    finished_ = true;
    return stream_->Finish();
  }

  void Leave() {
    if (finished_) return;
    stream_->WritesDone();
    Status();
  }

  std::uint64_t communicator() const { return communicator_; }

 private:
  std::uint32_t server_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
  std::uint64_t communicator_ = 0;
  std::uint64_t processed_ = 0;
  bool finished_ = false;
};

constexpr std::uint64_t kNever = ~std::uint64_t{0};

class NetworkServiceTest : public testing::Test {
 protected:
  NetworkServiceTest() : service_(page_.registry(), clock_) {
    auto server = runtime::GrpcServer::Start({}, {&service_});
    EXPECT_TRUE(server.has_value());
    server_ = std::make_unique<runtime::GrpcServer>(std::move(*server));
    stub_ = v1::NetworkService::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }

  static v1::RegisterJobRequest JobRequest() {
    v1::RegisterJobRequest request;
    request.set_job("job");
    auto& cluster = *request.mutable_cluster();
    cluster.set_name("c");
    cluster.set_servers(2);
    cluster.set_gpus_per_server(4);
    cluster.set_gpu("H100-SXM5-80GB");
    cluster.mutable_nvlink()->set_generation(4);
    cluster.mutable_nvlink()->set_switched(true);
    cluster.mutable_nics()->set_count(4);
    cluster.mutable_nics()->set_gigabits_per_second(400);
    cluster.mutable_fabric()->set_preset("rail-optimised");
    request.add_placement(0);
    request.add_placement(1);
    return request;
  }

  grpc::Status Register(const v1::RegisterJobRequest& request) {
    grpc::ClientContext context;
    v1::RegisterJobResponse response;
    return stub_->RegisterJob(&context, request, &response);
  }

  grpc::Status Remove(const std::string& job) {
    grpc::ClientContext context;
    v1::RemoveJobRequest request;
    request.set_job(job);
    v1::RemoveJobResponse response;
    return stub_->RemoveJob(&context, request, &response);
  }

  // Two agents with one communicator.
  void Start() {
    ASSERT_TRUE(Register(JobRequest()).ok());
    for (std::uint32_t server : {0u, 1u}) {
      agents_.push_back(std::make_unique<FakeAgent>(*stub_, "job", server));
      agents_.back()->Join(2);
    }
    for (auto& agent : agents_) agent->AwaitJoined();
  }

  // The cluster's thread sends notices before it counts.
  void AwaitMetric(const std::string& what) {
    for (int look = 0; look < 500 && page_.Text().find(what) == std::string::npos; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_THAT(page_.Text(), HasSubstr(what));
  }

  runtime::MetricsPage page_;
  WoundClock clock_;
  NetworkService service_;
  std::unique_ptr<runtime::GrpcServer> server_;
  std::unique_ptr<v1::NetworkService::Stub> stub_;
  std::vector<std::unique_ptr<FakeAgent>> agents_;
};

TEST_F(NetworkServiceTest, TwoAgentsCommitACollective) {
  Start();
  for (std::uint32_t at : {0u, 1u}) {
    agents_[at]->Issue(0, 1 << 20);
    agents_[at]->Post(0, 1'000'000 + at);
    agents_[at]->Promise(kNever);
  }

  for (auto& agent : agents_) {
    const v1::SessionResponse response = agent->Read();
    ASSERT_TRUE(response.has_committed()) << response.ShortDebugString();
    EXPECT_EQ(response.committed().rank(), -1);
    EXPECT_EQ(response.committed().start_picoseconds(), 1'000'001u);
    EXPECT_GT(response.committed().finish_picoseconds(), 10'000'000u);
  }
  EXPECT_THAT(page_.Text(), HasSubstr("eidolon_network_collectives_total{algorithm="));
  EXPECT_THAT(page_.Text(), HasSubstr("eidolon_network_sessions 2"));
  AwaitMetric("eidolon_network_link_bytes_total{tier=\"nic\"}");
}

TEST_F(NetworkServiceTest, ValuesComeBackExactly) {
  Start();
  agents_[0]->Issue(0, 2, std::string("\x01\x02", 2));
  agents_[1]->Issue(0, 2, std::string("\x10\x20", 2));

  for (auto& agent : agents_) {
    const v1::SessionResponse response = agent->Read();
    ASSERT_TRUE(response.has_values()) << response.ShortDebugString();
    EXPECT_TRUE(response.values().known());
    EXPECT_EQ(response.values().payload(), "\x11\x22");
  }
}

TEST_F(NetworkServiceTest, DisagreeingRanksAreNamed) {
  Start();
  agents_[0]->Issue(0, 1 << 20);
  agents_[1]->Issue(0, 1 << 21);

  for (auto& agent : agents_) {
    const v1::SessionResponse response = agent->Read();
    ASSERT_TRUE(response.has_failed()) << response.ShortDebugString();
    EXPECT_EQ(response.failed().reason(),
              "communicator 'dp' of 2 ranks: members call different operations as collective 0: "
              "rank 0 calls all_reduce (sum) of 1048576 uint8; rank 10 calls all_reduce (sum) of "
              "2097152 uint8");
  }
}

TEST_F(NetworkServiceTest, AnAgentThatVanishesFailsTheOthersCollective) {
  Start();
  agents_[0]->Issue(0, 1 << 20);
  agents_[0]->Post(0, 5);
  agents_[1].reset();

  const v1::SessionResponse response = agents_[0]->Read();

  ASSERT_TRUE(response.has_failed()) << response.ShortDebugString();
  EXPECT_THAT(response.failed().reason(),
              testing::AnyOf(HasSubstr("rank 10 has gone with server 1"),
                             HasSubstr("rank 10 has left communicator 'dp'")));
}

TEST_F(NetworkServiceTest, ADeadlockIsReportedAfterThreeSeconds) {
  Start();
  agents_[0]->Issue(0, 1 << 20);
  agents_[0]->Post(0, 5);
  for (auto& agent : agents_) agent->Promise(kNever, true);
  // Wind on until the watch has seen the clock at both ends of its span.
  v1::SessionResponse response;
  std::atomic<bool> read = false;
  std::thread winder([&] {
    while (!read) {
      clock_.Wind(ClusterThread::kDeadlockNs / 8);
      std::this_thread::yield();
    }
  });
  response = agents_[1]->Read();
  read = true;
  winder.join();

  ASSERT_TRUE(response.has_deadlock()) << response.ShortDebugString();
  EXPECT_EQ(response.deadlock().report(),
            "every process waits and nothing is left that could wake one:\n"
            "  communicator 'dp' of 2 ranks: collective 0, all_reduce (sum) of 1048576 uint8 "
            "(1048576 bytes): rank 0 waits; rank 10 has not called it");
}

TEST_F(NetworkServiceTest, RefusesJobsThatMakeNoSenseAndNamesTheField) {
  v1::RegisterJobRequest request = JobRequest();
  request.mutable_cluster()->set_gpu("Voodoo2");
  EXPECT_THAT(Register(request).error_message(),
              HasSubstr("cluster 'c': the network model does not know GPU 'Voodoo2'"));
  request = JobRequest();
  request.add_placement(9);
  EXPECT_THAT(Register(request).error_message(), HasSubstr("on server 9 of a cluster with 2"));
  request = JobRequest();
  request.add_placement(0);
  EXPECT_THAT(Register(request).error_message(), HasSubstr("on server 0 twice"));
  request.clear_placement();
  EXPECT_THAT(Register(request).error_message(), HasSubstr("on no server"));
}

TEST_F(NetworkServiceTest, ObeysTheJobsNcclVariables) {
  const auto estimate = [&](const std::string& job, const std::vector<std::string>& environment) {
    v1::RegisterJobRequest registration = JobRequest();
    registration.set_job(job);
    for (const std::string& setting : environment) registration.add_environment(setting);
    EXPECT_TRUE(Register(registration).ok());
    std::vector<std::unique_ptr<FakeAgent>> agents;
    for (std::uint32_t server : {0u, 1u}) {
      agents.push_back(std::make_unique<FakeAgent>(*stub_, job, server));
      agents.back()->Join(2);
    }
    for (auto& agent : agents) agent->AwaitJoined();
    v1::EstimateCollectiveRequest request;
    request.set_job(job);
    request.set_communicator(agents[0]->communicator());
    request.mutable_operation()->set_kind(v1::COLLECTIVE_KIND_ALL_REDUCE);
    request.mutable_operation()->set_data_type(7);
    request.mutable_operation()->set_size_bytes(1 << 30);
    grpc::ClientContext context;
    v1::EstimateCollectiveResponse response;
    EXPECT_TRUE(stub_->EstimateCollective(&context, request, &response).ok());
    return response;
  };

  EXPECT_EQ(estimate("free", {}).protocol(), "simple");
  EXPECT_EQ(estimate("forced", {"NCCL_ALGO=Ring", "NCCL_PROTO=LL"}).protocol(), "ll");
}

TEST_F(NetworkServiceTest, RefusesAnNcclVariableThatNcclWouldRefuse) {
  v1::RegisterJobRequest request = JobRequest();
  request.add_environment("NCCL_ALGO=Rign");

  EXPECT_THAT(Register(request).error_message(), HasSubstr("NCCL_ALGO='Rign': 'Rign' is unknown"));
}

TEST_F(NetworkServiceTest, LinksFailOnlyWhereRoutingKnowsAnother) {
  v1::RegisterJobRequest request = JobRequest();
  request.mutable_cluster()->set_servers(64);
  v1::LinkFault& fault = *request.add_faults();
  fault.set_at_seconds(1);
  fault.set_link("leaf 0, up");
  EXPECT_THAT(Register(request).error_message(), HasSubstr("there is no way round it"));
  request.set_spines(4);
  fault.set_link("leaf 0, up to spine 3");
  EXPECT_EQ(Register(request).error_message(), "");
}

TEST_F(NetworkServiceTest, RefusesFaultsOfLinksThatAreNotThere) {
  v1::RegisterJobRequest request = JobRequest();
  request.add_faults()->set_link("leaf 77");
  EXPECT_THAT(Register(request).error_message(), HasSubstr("no link is called 'leaf 77'"));
  request = JobRequest();
  request.add_background()->set_gigabits_per_second(-1);
  EXPECT_THAT(Register(request).error_message(), HasSubstr("fabric.background: gbps is -1"));
}

TEST_F(NetworkServiceTest, RegisteringTwiceIsFineWithEqualContent) {
  EXPECT_TRUE(Register(JobRequest()).ok());
  EXPECT_TRUE(Register(JobRequest()).ok());
  v1::RegisterJobRequest other = JobRequest();
  other.mutable_cluster()->set_servers(3);

  EXPECT_EQ(Register(other).error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(NetworkServiceTest, RemovingAJobEndsItsSessions) {
  Start();

  EXPECT_TRUE(Remove("job").ok());

  EXPECT_EQ(agents_[0]->Status().error_message(), "the job was removed");
  EXPECT_TRUE(Remove("job").ok());
  FakeAgent late(*stub_, "job", 0);
  EXPECT_EQ(late.Status().error_message(), "job 'job' is not registered");
}

TEST_F(NetworkServiceTest, ASessionBeginsWithHello) {
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  v1::SessionRequest request;
  request.mutable_horizon();
  stream->Write(request);
  v1::SessionResponse response;
  EXPECT_FALSE(stream->Read(&response));

  EXPECT_EQ(stream->Finish().error_message(), "a session's first message is Hello");
}

TEST_F(NetworkServiceTest, ASecondSessionOfAServerIsRefusedAndTheFirstGoesOn) {
  Start();
  {
    FakeAgent second(*stub_, "job", 0);
    EXPECT_EQ(second.Status().error_message(), "server 0 has connected before");
  }
  agents_[0]->Issue(0, 1, "\x01");
  agents_[1]->Issue(0, 1, "\x02");

  EXPECT_TRUE(agents_[0]->Read().has_values());
}

TEST_F(NetworkServiceTest, AnAgentsErrorEndsItsSessionWithAReason) {
  Start();
  agents_[0]->Post(5, 1);

  EXPECT_EQ(agents_[0]->Status().error_message(),
            "rank 0 reaches collective 5 without having called it");
}

TEST_F(NetworkServiceTest, EstimatesWithoutSideEffects) {
  Start();
  v1::EstimateCollectiveRequest request;
  request.set_job("job");
  request.set_communicator(agents_[0]->communicator());
  request.mutable_operation()->set_kind(v1::COLLECTIVE_KIND_ALL_GATHER);
  request.mutable_operation()->set_data_type(7);
  request.mutable_operation()->set_size_bytes(1 << 30);
  const auto estimate = [&](v1::EstimateCollectiveResponse* response) {
    grpc::ClientContext context;
    return stub_->EstimateCollective(&context, request, response);
  };
  v1::EstimateCollectiveResponse first;
  v1::EstimateCollectiveResponse second;

  EXPECT_TRUE(estimate(&first).ok());
  EXPECT_TRUE(estimate(&second).ok());
  EXPECT_GT(first.duration_picoseconds(), 0u);
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
  request.set_communicator(1);
  EXPECT_EQ(estimate(&first).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(NetworkServiceTest, TheServerEndsWhileAgentsTalk) {
  Start();

  server_.reset();

  for (auto& agent : agents_) EXPECT_FALSE(agent->Status().ok());
}

}  // namespace
}  // namespace eidolon::network
