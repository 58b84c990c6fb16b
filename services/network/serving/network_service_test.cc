#include "services/network/serving/network_service_fixture_test.h"

namespace eidolon::network::serving {
namespace {

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

TEST_F(NetworkServiceTest, ABatchIsDoneInOrderAndAnsweredInOne) {
  Start();

  // Whichever comes last makes all three values known at once.
  for (auto& agent : agents_) {
    agent->Gather();
    for (std::uint64_t sequence : {0u, 1u, 2u}) agent->Issue(sequence, 1, "\x11");
    agent->Flush();
  }

  for (auto& agent : agents_) {
    for (std::uint64_t sequence : {0u, 1u, 2u}) {
      const v1::SessionResponse response = agent->Read();
      ASSERT_TRUE(response.has_values()) << response.ShortDebugString();
      EXPECT_EQ(response.values().sequence(), sequence);
      EXPECT_EQ(response.values().payload(), "\x22");
    }
    EXPECT_EQ(agent->batches(), 1);
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

TEST_F(NetworkServiceTest, ADeadlockIsReportedWhenAllSayAgainAfterThreeSecondsThatTheySleep) {
  Start();
  agents_[0]->Issue(0, 1 << 20);
  agents_[0]->Post(0, 5);
  for (auto& agent : agents_) agent->Promise(kNever, true);
  // Wind on until the watch has seen the clock at both ends of its span.
  std::atomic<bool> read = false;
  std::thread winder([&] {
    while (!read) {
      clock_.Wind(ClusterThread::kDeadlockNs / 8);
      std::this_thread::yield();
    }
  });
  for (auto& agent : agents_) {
    const v1::SessionResponse asked = agent->Read();
    EXPECT_TRUE(asked.has_safe_through()) << asked.ShortDebugString();
    EXPECT_TRUE(asked.safe_through().released());
    agent->Promise(kNever, true);
  }
  const v1::SessionResponse response = agents_[1]->Read();
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

TEST_F(NetworkServiceTest, FixedTransfersLastWhatTheJobSays) {
  v1::RegisterJobRequest request = JobRequest();
  request.mutable_fixed_transfer()->set_picoseconds(15'000'000);
  EXPECT_THAT(Register(request).error_message(), HasSubstr("fixed transfers have no rate"));
  request.mutable_fixed_transfer()->set_bytes_per_second(10'000'000'000);
  ASSERT_TRUE(Register(request).ok());
  for (std::uint32_t server : {0u, 1u}) {
    agents_.push_back(std::make_unique<FakeAgent>(*stub_, "job", server));
    agents_.back()->Join(2);
  }
  for (auto& agent : agents_) agent->AwaitJoined();

  for (std::uint32_t at : {0u, 1u}) {
    agents_[at]->Issue(0, 1 << 20);
    agents_[at]->Post(0, 1'000'000);
    agents_[at]->Promise(kNever);
  }

  for (auto& agent : agents_) {
    const v1::SessionResponse response = agent->Read();
    ASSERT_TRUE(response.has_committed()) << response.ShortDebugString();
    const v1::Committed& committed = response.committed();
    EXPECT_EQ(committed.finish_picoseconds() - committed.start_picoseconds(),
              15'000'000u + 104'857'600u);
    EXPECT_EQ(committed.source(), common::v1::ESTIMATE_SOURCE_ASSUMED);
  }
}

TEST_F(NetworkServiceTest, RefusesAnNcclVariableThatNcclWouldRefuse) {
  v1::RegisterJobRequest request = JobRequest();
  request.add_environment("NCCL_ALGO=Rign");

  EXPECT_THAT(Register(request).error_message(), HasSubstr("NCCL_ALGO='Rign': 'Rign' is unknown"));
}

TEST_F(NetworkServiceTest, LinksOfTheFabricFailAndThoseOfServersDoNot) {
  v1::RegisterJobRequest request = JobRequest();
  request.mutable_cluster()->set_servers(64);
  v1::LinkFault& fault = *request.add_faults();
  fault.set_at_seconds(1);
  fault.set_link("NIC 0 of server 3");
  EXPECT_THAT(Register(request).error_message(), HasSubstr("there is no way round it"));
  request.mutable_plan()->set_merged_spines(4);
  fault.set_link("leaf 0, up to spine 4");
  EXPECT_THAT(Register(request).error_message(), HasSubstr("no link is called"));
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

TEST_F(NetworkServiceTest, LoadsOfLinksAreToldToWhoeverAskedToKeepThem) {
  Start();
  v1::ReadLinkLoadsRequest request;
  request.set_job("job");
  request.set_to_picoseconds(kNever);
  v1::ReadLinkLoadsResponse loads;
  const auto read = [&](std::uint32_t server) {
    grpc::ClientContext context;
    request.set_server(server);
    return stub_->ReadLinkLoads(&context, request, &loads);
  };
  EXPECT_EQ(read(0).error_code(), grpc::StatusCode::NOT_FOUND);

  ASSERT_TRUE(Register([] {
                auto other = JobRequest();
                other.set_job("shown");
                return other;
              }())
                  .ok());
  FakeAgent shown(*stub_, "shown", 0, /*token=*/"", /*keep_link_loads=*/true);
  request.set_job("shown");
  // The service reads the session's Hello in its own time.
  while (!read(0).ok()) std::this_thread::yield();

  EXPECT_EQ(loads.links_size(), 4 * 2 + 4 * 2);  // GPUs and NICs, both ways.
  EXPECT_EQ(loads.links(0).tier(), v1::LINK_TIER_NVLINK);
  EXPECT_EQ(loads.links(15).tier(), v1::LINK_TIER_NIC);
  EXPECT_TRUE(loads.links(15).inbound());
  EXPECT_EQ(loads.change_links_size(), 16);  // Each link begins idle.
  EXPECT_EQ(read(1).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(NetworkServiceTest, LinksHaveNames) {
  Start();
  v1::ReadLinkNamesRequest request;
  request.set_job("job");
  for (const std::uint32_t link : {0u, 1u, 1'000'000u}) request.add_links(link);
  v1::ReadLinkNamesResponse response;
  const auto read = [&] {
    grpc::ClientContext context;
    return stub_->ReadLinkNames(&context, request, &response);
  };

  ASSERT_TRUE(read().ok());
  ASSERT_EQ(response.names_size(), 3);
  EXPECT_EQ(response.names(0), "GPU 0 of server 0, up");
  EXPECT_EQ(response.names(1), "GPU 0 of server 0, down");
  EXPECT_EQ(response.names(2), "");
  for (int i = 0; i < 10'000; ++i) request.add_links(0);
  EXPECT_EQ(read().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_job("another");
  EXPECT_FALSE(read().ok());
}

TEST_F(NetworkServiceTest, TheServerEndsWhileAgentsTalk) {
  Start();

  server_.reset();

  for (auto& agent : agents_) EXPECT_FALSE(agent->Status().ok());
}

}  // namespace
}  // namespace eidolon::network::serving
