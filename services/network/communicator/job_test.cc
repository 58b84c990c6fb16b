#include "services/network/communicator/job.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text.h"
#include "services/network/communicator/recorder_test.h"

namespace eidolon::network::communicator {
namespace {

using base::SimTime;
using testing::ElementsAre;
using testing::HasSubstr;

class JobTest : public testing::Test {
 protected:
  JobTest()
      : topology_(*topology::Topology::Make({.name = "c",
                                             .servers = 4,
                                             .gpus_per_server = 4,
                                             .gpu = "H100-SXM5-80GB",
                                             .nvlink_generation = 4,
                                             .nvlink_switched = true,
                                             .nics = 4,
                                             .nic_gigabits_per_second = 400,
                                             .nic_latency_microseconds = 0,
                                             .fabric = "rail-optimised",
                                             .oversubscription = 1})),
        job_(7, topology_, {.placement = {2, 3}}, recorder_) {}

  // One rank per server.
  std::uint64_t Join() {
    for (std::uint32_t server : {0u, 1u}) {
      EXPECT_TRUE(job_.Join(server, "id", 2, Arriving(server)).has_value());
    }
    return recorder_.All<JoinedNotice>(0).back().communicator;
  }

  Arrival Arriving(std::uint32_t server) {
    return {.request = 100 + server,
            .member = {.global_rank = static_cast<std::int32_t>(server) * 4, .server = server},
            .rank = static_cast<std::int32_t>(server),
            .ready = SimTime{10 + server},
            .name = "dp"};
  }

  IssueCall Sum(std::uint64_t communicator, std::int32_t rank, std::uint64_t count,
                Payload payload = std::nullopt) {
    return {.communicator = communicator,
            .sequence = 0,
            .rank = rank,
            .operation = {.kind = Kind::kAllReduce, .data_type = 1, .count = count, .bytes = count},
            .payload = std::move(payload)};
  }

  topology::Topology topology_;
  Recorder recorder_;
  Job job_;
};

TEST_F(JobTest, MembersJoinAtTheLastArrivalPlusStartUp) {
  const std::uint64_t id = Join();

  const auto joined = recorder_.All<JoinedNotice>(1);
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].request, 101u);
  EXPECT_EQ(joined[0].communicator, id);
  EXPECT_EQ(joined[0].rank, 1);
  EXPECT_EQ(joined[0].finish, SimTime{11} + base::Duration::Milliseconds(102));
  EXPECT_EQ(joined[0].size, 2);
  EXPECT_GT(joined[0].buffer_bytes, 0u);
}

TEST_F(JobTest, NumbersDoNotDependOnWhoComesFirst) {
  const std::uint64_t id = Join();
  Recorder recorder;
  Job other(7, topology_, {.placement = {2, 3}}, recorder);

  ASSERT_TRUE(other.Join(1, "id", 2, Arriving(1)).has_value());
  ASSERT_TRUE(other.Join(0, "id", 2, Arriving(0)).has_value());

  EXPECT_EQ(recorder.All<JoinedNotice>(0).back().communicator, id);
}

TEST_F(JobTest, ACollectiveBecomesATransferAndItsEndACommit) {
  const std::uint64_t id = Join();
  for (std::int32_t rank : {0, 1}) {
    ASSERT_TRUE(job_.Issue(static_cast<std::uint32_t>(rank), Sum(id, rank, 4096)).has_value());
    ASSERT_TRUE(job_.Post(static_cast<std::uint32_t>(rank),
                          {.communicator = id, .rank = rank, .ready = {500 + rank}})
                    .has_value());
  }
  ASSERT_EQ(recorder_.started.size(), 1u);
  const flow::Transfer& transfer = recorder_.started[0];
  EXPECT_EQ(transfer.start, SimTime{501});
  EXPECT_EQ(transfer.key.job, 7u);

  job_.Finished({transfer.key, transfer.start, SimTime{9000}});

  for (std::uint32_t server : {0u, 1u}) {
    const auto committed = recorder_.All<CommittedNotice>(server);
    ASSERT_EQ(committed.size(), 1u);
    EXPECT_EQ(committed[0].rank, -1);
    EXPECT_EQ(committed[0].finish, SimTime{9000});
    EXPECT_GT(committed[0].relative_error, 0);
  }
}

TEST_F(JobTest, ValuesComeWithTheLastCallWhateverTheTime) {
  const std::uint64_t id = Join();

  ASSERT_TRUE(job_.Issue(1, Sum(id, 1, 1, "\x02")).has_value());
  EXPECT_TRUE(recorder_.All<ValuesNotice>(0).empty());
  ASSERT_TRUE(job_.Issue(0, Sum(id, 0, 1, "\x03")).has_value());

  const auto values = recorder_.All<ValuesNotice>(0);
  ASSERT_EQ(values.size(), 1u);
  EXPECT_TRUE(values[0].known);
  EXPECT_EQ(values[0].payload, "\x05");
}

TEST_F(JobTest, MembersThatDisagreeFailTheCommunicator) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Issue(0, Sum(id, 0, 8)).has_value());
  ASSERT_TRUE(job_.Issue(1, Sum(id, 1, 9)).has_value());

  for (std::uint32_t server : {0u, 1u}) {
    const auto failed = recorder_.All<FailedNotice>(server);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].communicator, id);
    EXPECT_EQ(failed[0].reason,
              "communicator 'dp' of 2 ranks: members call different operations as collective 0: "
              "rank 0 calls all_reduce (sum) of 8 uint8; rank 4 calls all_reduce (sum) of 9 uint8");
  }
  EXPECT_THAT(recorder_.cancelled, ElementsAre(id));
  EXPECT_TRUE(job_.Waits().empty());
}

TEST_F(JobTest, AServerThatVanishesFailsWhatWaitsForIt) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Issue(0, Sum(id, 0, 8)).has_value());

  job_.Disconnect(1);

  const auto failed = recorder_.All<FailedNotice>(0);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].reason,
            "rank 4 has gone with server 1 while others of communicator 'dp' of 2 ranks wait for "
            "it");
  EXPECT_TRUE(failed[0].server_gone);
  EXPECT_TRUE(recorder_.All<FailedNotice>(1).empty());
  job_.Disconnect(0);
  EXPECT_EQ(job_.communicators(), 0u);
}

TEST_F(JobTest, WhatWasCompleteEndsThoughAServerVanished) {
  const std::uint64_t id = Join();
  for (std::int32_t rank : {0, 1}) {
    ASSERT_TRUE(job_.Issue(static_cast<std::uint32_t>(rank), Sum(id, rank, 8)).has_value());
    ASSERT_TRUE(job_.Post(static_cast<std::uint32_t>(rank), {.communicator = id, .rank = rank})
                    .has_value());
  }
  job_.Disconnect(1);
  job_.Finished({recorder_.started[0].key, {0}, {10}});

  EXPECT_EQ(recorder_.All<CommittedNotice>(0).size(), 1u);
  EXPECT_TRUE(recorder_.All<FailedNotice>(0).empty());
}

TEST_F(JobTest, ACallAfterAMemberLeftFailsOnceNothingHappensAnyMore) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Leave(1, id, 1).has_value());

  ASSERT_TRUE(job_.Issue(0, Sum(id, 0, 8)).has_value());

  ASSERT_EQ(recorder_.All<FailedNotice>(0).size(), 1u);
  EXPECT_TRUE(recorder_.All<FailedNotice>(0)[0].job_goes_on);
  EXPECT_TRUE(job_.FailWaitsInVain());
  EXPECT_FALSE(recorder_.All<FailedNotice>(0).back().job_goes_on);
  EXPECT_EQ(recorder_.All<FailedNotice>(0).back().reason,
            "rank 4 has left communicator 'dp' of 2 ranks before rank 0 called all_reduce (sum) of "
            "8 uint8");
}

TEST_F(JobTest, WhoWaitsForAMemberThatLeftMayLeaveToo) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Issue(0, Sum(id, 0, 8)).has_value());

  ASSERT_TRUE(job_.Leave(1, id, 1).has_value());
  ASSERT_TRUE(job_.Leave(0, id, 0).has_value());

  ASSERT_EQ(recorder_.All<FailedNotice>(0).size(), 1u);
  EXPECT_TRUE(recorder_.All<FailedNotice>(0)[0].job_goes_on);
  EXPECT_FALSE(job_.FailWaitsInVain());
}

TEST_F(JobTest, AMemberThatLeftStillArrivesAtWhatItHadCalled) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Issue(1, Sum(id, 1, 8)).has_value());
  ASSERT_TRUE(job_.Leave(1, id, 1).has_value());

  ASSERT_TRUE(job_.Issue(0, Sum(id, 0, 8)).has_value());
  ASSERT_TRUE(job_.Leave(0, id, 0).has_value());
  for (std::int32_t rank : {0, 1}) {
    ASSERT_TRUE(job_.Post(static_cast<std::uint32_t>(rank), {.communicator = id, .rank = rank})
                    .has_value());
  }

  ASSERT_EQ(recorder_.started.size(), 1u);
  job_.Finished({recorder_.started[0].key, {0}, {10}});
  EXPECT_EQ(recorder_.All<CommittedNotice>(0).size(), 1u);
  EXPECT_TRUE(recorder_.All<FailedNotice>(0).empty());
  EXPECT_EQ(job_.communicators(), 0u);
}

TEST_F(JobTest, AMemberThatLeftAndWhoseServerVanishedDoesNotArrive) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Issue(1, Sum(id, 1, 8)).has_value());
  ASSERT_TRUE(job_.Leave(1, id, 1).has_value());
  ASSERT_TRUE(job_.Issue(0, Sum(id, 0, 8)).has_value());

  job_.Disconnect(1);

  ASSERT_EQ(recorder_.All<FailedNotice>(0).size(), 1u);
  EXPECT_TRUE(recorder_.All<FailedNotice>(0)[0].server_gone);
}

TEST_F(JobTest, ACommunicatorThatAllLeftIsForgotten) {
  const std::uint64_t id = Join();

  ASSERT_TRUE(job_.Leave(0, id, 0).has_value());
  ASSERT_TRUE(job_.Leave(1, id, 1).has_value());

  EXPECT_EQ(job_.communicators(), 0u);
}

TEST_F(JobTest, SplitsAParent) {
  const std::uint64_t id = Join();
  for (std::int32_t rank : {0, 1}) {
    Arrival arrival{.request = 200 + static_cast<std::uint64_t>(rank),
                    .rank = rank,
                    .color = 0,
                    .key = -rank,
                    .ready = {1000}};
    ASSERT_TRUE(job_.Split(static_cast<std::uint32_t>(rank), id, arrival).has_value());
  }

  const auto joined = recorder_.All<JoinedNotice>(1);
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[1].rank, 0);  // The lower key.
  EXPECT_THAT(joined[1].parent_ranks, ElementsAre(1, 0));
  EXPECT_NE(joined[1].communicator, id);
}

TEST_F(JobTest, ANegativeColorTakesPartButGetsNothing) {
  const std::uint64_t id = Join();
  for (std::int32_t rank : {0, 1}) {
    ASSERT_TRUE(job_.Split(static_cast<std::uint32_t>(rank), id,
                           {.request = 1, .rank = rank, .color = rank == 0 ? 0 : -1})
                    .has_value());
  }

  EXPECT_EQ(recorder_.All<JoinedNotice>(1).back().communicator, 0u);
  EXPECT_EQ(recorder_.All<JoinedNotice>(0).back().size, 1);
}

// The first send of rank 0, which rank 1 receives.
IssueCall FirstTransfer(std::uint64_t communicator, std::int32_t rank) {
  IssueCall call{.communicator = communicator, .sequence = 0, .rank = rank};
  call.operation = {.kind = Kind::kPointToPoint,
                    .transfers = {{.send = rank == 0, .peer = 1 - rank, .bytes = 1 << 20}}};
  return call;
}

// The last step of a pipeline does this if its first stage is behind.
TEST_F(JobTest, AReceiverThatLeftStillGetsWhatIsSentToIt) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Issue(1, FirstTransfer(id, 1)).has_value());
  ASSERT_TRUE(job_.Leave(1, id, 1).has_value());

  ASSERT_TRUE(job_.Issue(0, FirstTransfer(id, 0)).has_value());
  for (std::int32_t rank : {0, 1}) {
    ASSERT_TRUE(job_.Post(static_cast<std::uint32_t>(rank),
                          {.communicator = id, .rank = rank, .point_to_point = true})
                    .has_value());
  }

  EXPECT_EQ(recorder_.started.size(), 1u);
  EXPECT_TRUE(recorder_.All<FailedNotice>(0).empty());
}

TEST_F(JobTest, ASendToWhoLeftWithoutReceivingItWaitsInVain) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Leave(1, id, 1).has_value());

  ASSERT_TRUE(job_.Issue(0, FirstTransfer(id, 0)).has_value());

  EXPECT_TRUE(recorder_.All<FailedNotice>(0).back().job_goes_on);
  EXPECT_THAT(recorder_.All<FailedNotice>(0).back().reason,
              HasSubstr("called a send or receive with it"));
}

TEST_F(JobTest, PointToPointCommitsEachRank) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Issue(0, FirstTransfer(id, 0)).has_value());
  ASSERT_TRUE(job_.Issue(1, FirstTransfer(id, 1)).has_value());
  for (std::int32_t rank : {0, 1}) {
    ASSERT_TRUE(job_.Post(static_cast<std::uint32_t>(rank),
                          {.communicator = id, .rank = rank, .point_to_point = true})
                    .has_value());
  }
  ASSERT_EQ(recorder_.started.size(), 1u);
  job_.Finished({recorder_.started[0].key, {0}, {10}});

  EXPECT_EQ(recorder_.All<CommittedNotice>(0).back().rank, 0);
  EXPECT_EQ(recorder_.All<CommittedNotice>(1).back().rank, 1);
}

TEST_F(JobTest, RefusesAnAgentsNonsense) {
  const std::uint64_t id = Join();
  EXPECT_THAT(job_.Issue(0, Sum(99, 0, 1)).error().message,
              HasSubstr("communicator 99 is unknown"));
  EXPECT_THAT(job_.Issue(0, Sum(id, 5, 1)).error().message, HasSubstr("rank 5 of communicator"));
  EXPECT_THAT(job_.Issue(1, Sum(id, 0, 1)).error().message, HasSubstr("not its own"));
  Arrival arrival = Arriving(0);
  arrival.member.device = 4;
  EXPECT_THAT(job_.Join(0, "x", 2, arrival).error().message, HasSubstr("uses GPU 4"));
  arrival.member = {.server = 1};
  EXPECT_THAT(job_.Join(0, "x", 2, arrival).error().message, HasSubstr("speaks for"));
  EXPECT_FALSE(job_.Join(0, "x", 0, Arriving(0)).has_value());
}

TEST_F(JobTest, AJoinThatDoesNotFitFailsEveryone) {
  ASSERT_TRUE(job_.Join(0, "id", 2, Arriving(0)).has_value());
  ASSERT_TRUE(job_.Join(1, "id", 3, Arriving(1)).has_value());

  EXPECT_EQ(recorder_.All<FailedNotice>(0).back().request, 100u);
  EXPECT_EQ(recorder_.All<FailedNotice>(1).back().request, 101u);
}

TEST_F(JobTest, ReportsWhatIsWaitedFor) {
  const std::uint64_t id = Join();
  ASSERT_TRUE(job_.Issue(1, Sum(id, 1, 8)).has_value());
  ASSERT_TRUE(job_.Post(1, {.communicator = id, .rank = 1}).has_value());
  ASSERT_TRUE(job_.Join(0, "other", 3, Arriving(0)).has_value());
  IssueCall receive{.communicator = id, .sequence = 0, .rank = 0};
  receive.operation = {.kind = Kind::kPointToPoint,
                       .transfers = {{.send = false, .peer = 1, .bytes = 64}}};
  ASSERT_TRUE(job_.Issue(0, receive).has_value());
  ASSERT_TRUE(job_.Post(0, {.communicator = id, .rank = 0, .point_to_point = true}).has_value());

  EXPECT_THAT(
      job_.Waits(),
      ElementsAre(
          "ncclCommInitRank 'dp' of 3 ranks: rank 0 waits; its ranks 1, 2 have not come",
          "communicator 'dp' of 2 ranks: collective 0, all_reduce (sum) of 8 uint8 (8 bytes): "
          "rank 4 waits; rank 0 has not called it",
          "communicator 'dp' of 2 ranks: send 0 of 64 bytes from rank 4 to rank 0: rank 0 waits; "
          "rank 4 has not called the send"));
}

TEST_F(JobTest, AReceiverHearsHowEarlyItsTransferCanEnd) {
  const std::uint64_t id = Join();
  const std::uint64_t bytes = 1 << 20;
  IssueCall send{.communicator = id, .sequence = 0, .rank = 0};
  send.operation = {.kind = Kind::kPointToPoint,
                    .transfers = {{.send = true, .peer = 1, .bytes = bytes}}};
  IssueCall receive{.communicator = id, .sequence = 0, .rank = 1};
  receive.operation = {.kind = Kind::kPointToPoint,
                       .transfers = {{.send = false, .peer = 0, .bytes = bytes}}};
  const base::Duration alone = job_.Estimate(id, receive.operation)->Total();
  PostCall bound{.communicator = id, .rank = 0, .point_to_point = true, .ready = SimTime{1000}};
  ASSERT_TRUE(job_.Issue(0, send).has_value());
  ASSERT_TRUE(job_.Bound(0, bound).has_value());
  EXPECT_TRUE(recorder_.All<NotBeforeNotice>(1).empty()) << "it has not called";

  ASSERT_TRUE(job_.Issue(1, receive).has_value());
  bound.ready = SimTime{5000};
  ASSERT_TRUE(job_.Bound(0, bound).has_value());
  ASSERT_TRUE(job_.Bound(0, bound).has_value());

  const auto told = recorder_.All<NotBeforeNotice>(1);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].communicator, id);
  EXPECT_EQ(told[0].rank, 1);
  EXPECT_EQ(told[0].end, SimTime{1000} + alone);
  EXPECT_EQ(told[1].end, SimTime{5000} + alone);
  EXPECT_TRUE(recorder_.All<NotBeforeNotice>(0).empty()) << "who sends waits for nobody's bound";
  EXPECT_THAT(job_.Bound(1, bound).error().message, HasSubstr("not its own"));
}

TEST_F(JobTest, EstimatesWithoutStartingAnything) {
  const std::uint64_t id = Join();

  const auto cost = job_.Estimate(id, Sum(id, 0, 1 << 20).operation);

  ASSERT_TRUE(cost.has_value());
  EXPECT_GT(cost->Total().ps, 0);
  EXPECT_EQ(cost->at_least, cost->Total()) << "every link gives its ranks all that they can use";
  EXPECT_GT(cost->memory_bytes, std::uint64_t{1} << 20);
  EXPECT_TRUE(recorder_.started.empty());
  EXPECT_EQ(job_.Estimate(99, Sum(id, 0, 1).operation).error().code, base::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace eidolon::network::communicator
