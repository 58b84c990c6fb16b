#include "services/network/communicator/folded_job_fixture_test.h"

namespace eidolon::network::communicator {
namespace {

using base::SimTime;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(FoldedJobTest, OnlyServersWithALiveRankHaveSessions) {
  EXPECT_THAT(job_.LiveServers(), ElementsAre(0u, 3u));
}

TEST_F(FoldedJobTest, ACommunicatorIsCompleteWhenItsLiveMembersHaveCome) {
  const std::uint64_t id = JoinWorld();

  EXPECT_NE(id, 0u);
  const auto joined = recorder_.All<JoinedNotice>(3);
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined[0].rank, 15);
  EXPECT_EQ(joined[0].size, 16);
  EXPECT_THAT(recorder_.All<JoinedNotice>(1), IsEmpty());
}

TEST_F(FoldedJobTest, MembersMeetByTheirRanksWhateverUniqueIdTheyWereGiven) {
  ASSERT_TRUE(job_.Join(0, "of rank 0", kRanks, Arriving(0, World())).has_value());
  ASSERT_TRUE(job_.Join(3, "made up", kRanks, Arriving(15, World())).has_value());
  ASSERT_TRUE(job_.Join(3, "second", kRanks, Arriving(15, World())).has_value());

  ASSERT_THAT(recorder_.All<JoinedNotice>(0), SizeIs(1));
  EXPECT_THAT(recorder_.All<JoinedNotice>(3), SizeIs(1)) << "the second waits for rank 0";
}

TEST_F(FoldedJobTest, CollectivesTakeTheTimeOfAllRanks) {
  const std::uint64_t id = JoinWorld();
  for (const std::int32_t rank : {0, 15}) {
    const std::uint32_t server = ServerOf(static_cast<std::uint32_t>(rank));
    ASSERT_TRUE(job_.Issue(server, Gathering(id, rank, std::nullopt)).has_value());
    ASSERT_TRUE(job_.Post(server, {.communicator = id, .rank = rank, .ready = SimTime{1000 + rank}})
                    .has_value());
  }

  ASSERT_THAT(recorder_.started, SizeIs(1));
  EXPECT_EQ(recorder_.started[0].start, SimTime{1015});
  // The same operation when every rank has a process.
  Recorder all_recorder;
  Job all(8, topology_, {.placement = {0, 1, 2, 3}}, all_recorder);
  for (const std::uint32_t rank : World()) {
    Arrival arrival = Arriving(rank, World());
    arrival.members.clear();
    ASSERT_TRUE(all.Join(ServerOf(rank), "id", kRanks, arrival).has_value());
  }
  const std::uint64_t all_id = all_recorder.All<JoinedNotice>(0).back().communicator;
  const Operation operation = Gathering(id, 0, std::nullopt).operation;
  EXPECT_EQ(job_.Estimate(id, operation)->Total(), all.Estimate(all_id, operation)->Total());
}

TEST_F(FoldedJobTest, MirroredRanksGiveWhatFollowsFromTheLiveRanks) {
  const std::uint64_t id = JoinWorld();
  ASSERT_TRUE(job_.Issue(0, Gathering(id, 0, Bytes(0))).has_value());
  ASSERT_TRUE(job_.Issue(3, Gathering(id, 15, Bytes(30))).has_value());

  const auto values = recorder_.All<ValuesNotice>(0);
  ASSERT_THAT(values, SizeIs(1));
  std::string expected;
  for (std::int64_t rank = 0; rank < kRanks; ++rank) expected += Bytes(2 * rank);
  EXPECT_TRUE(values[0].known);
  EXPECT_EQ(values[0].payload, expected);
  EXPECT_THAT(recorder_.All<ValuesNotice>(1), IsEmpty());
}

TEST_F(FoldedJobTest, ValuesThatFollowNoRuleAreToldOnce) {
  const std::uint64_t id = JoinWorld();
  ASSERT_TRUE(job_.Issue(0, Gathering(id, 0, Bytes(0))).has_value());
  ASSERT_TRUE(job_.Issue(3, Gathering(id, 15, Bytes(7))).has_value());  // No whole step a rank.

  EXPECT_EQ(recorder_.All<ValuesNotice>(0).back().guessed, 14u);
  EXPECT_EQ(recorder_.All<ValuesNotice>(3).back().guessed, 0u);
}

TEST_F(FoldedJobTest, WhatIsGuessedAndWhatRanksLaunchOtherwiseIsNamedByItsLine) {
  const std::uint64_t id = JoinWorld();
  for (const std::int32_t rank : {0, 15}) {
    IssueCall call = Gathering(id, rank, rank == 0 ? Bytes(4) : Bytes(5));
    call.operation.site = "train.py:40";
    call.work = {.launches = 2 + static_cast<std::uint64_t>(rank == 15), .digest = 9};
    ASSERT_TRUE(job_.Issue(ServerOf(static_cast<std::uint32_t>(rank)), call).has_value());
  }

  ASSERT_THAT(recorder_.All<ValuesNotice>(0), SizeIs(1));
  EXPECT_EQ(recorder_.All<ValuesNotice>(0)[0].site, "train.py:40");
  EXPECT_THAT(recorder_.All<WorkDiffersNotice>(3), IsEmpty());
  const auto differs = recorder_.All<WorkDiffersNotice>(0);
  ASSERT_THAT(differs, SizeIs(1));
  EXPECT_EQ(differs[0].rank, 0u);
  EXPECT_THAT(differs[0].where, HasSubstr("rank 0 launches 2 kernels and copies, rank 15 3"));
  EXPECT_THAT(differs[0].where, HasSubstr("all_gather of 1 int64 at train.py:40"));
}

TEST_F(FoldedJobTest, ABroadcastFromEachRankInOneGroupIsAGather) {
  const std::uint64_t id = JoinWorld();
  for (const std::int32_t rank : {0, 15}) {
    for (std::int32_t root = 0; root < 16; ++root) {
      IssueCall call = {.communicator = id,
                        .sequence = static_cast<std::uint64_t>(root),
                        .rank = rank,
                        .operation = {.kind = Kind::kBroadcast,
                                      .data_type = kInt64,
                                      .root = root,
                                      .count = 1,
                                      .bytes = 8},
                        .group = {.first = 0, .size = 16}};
      if (rank == root) call.payload = Bytes(10 + rank);
      ASSERT_TRUE(job_.Issue(ServerOf(static_cast<std::uint32_t>(rank)), std::move(call)));
    }
  }

  std::map<std::uint64_t, std::string> values;
  for (const ValuesNotice& notice : recorder_.All<ValuesNotice>(0)) {
    EXPECT_TRUE(notice.known) << notice.sequence;
    values[notice.sequence] = notice.payload;
  }
  ASSERT_THAT(values, SizeIs(16));
  for (const auto& [root, value] : values) {
    EXPECT_EQ(value, Bytes(10 + static_cast<std::int64_t>(root)));
  }
}

TEST_F(FoldedJobTest, WhatAMirroredRankBroadcastsAloneIsNotKnown) {
  const std::uint64_t id = JoinWorld();
  for (const std::int32_t rank : {0, 15}) {
    ASSERT_TRUE(job_.Issue(ServerOf(static_cast<std::uint32_t>(rank)),
                           {.communicator = id,
                            .rank = rank,
                            .operation = {.kind = Kind::kBroadcast,
                                          .data_type = kInt64,
                                          .root = 4,
                                          .count = 1,
                                          .bytes = 8,
                                          .site = "train.py:7"}}));
  }

  const auto values = recorder_.All<ValuesNotice>(0);
  ASSERT_THAT(values, SizeIs(1));
  EXPECT_FALSE(values[0].known);
  EXPECT_EQ(values[0].guessed, 1u);
  EXPECT_EQ(values[0].site, "train.py:7") << "a program that asks for a mirrored rank by name";
}

TEST_F(FoldedJobTest, WhatAMirroredRankBroadcastsInItsRowIsWhatTheLiveRankOfAnotherRowDoes) {
  const std::vector<std::uint32_t> first = {0, 1, 2, 3}, last = {12, 13, 14, 15};
  ASSERT_TRUE(job_.Join(0, "a", 4, Arriving(0, first)).has_value());
  ASSERT_TRUE(job_.Join(3, "b", 4, Arriving(15, last)).has_value());
  const auto id_of = [&](std::uint32_t server) {
    return recorder_.All<JoinedNotice>(server).at(0).communicator;
  };
  const auto broadcast = [&](std::uint32_t server, std::int32_t rank, Payload payload) {
    ASSERT_TRUE(job_.Issue(
        server,
        {.communicator = id_of(server),
         .rank = rank,
         .operation =
             {.kind = Kind::kBroadcast, .data_type = kInt64, .root = 0, .count = 1, .bytes = 8},
         .payload = std::move(payload)}));
  };

  broadcast(3, 3, std::nullopt);
  EXPECT_THAT(recorder_.All<ValuesNotice>(3), IsEmpty());
  EXPECT_THAT(job_.Waits(), ElementsAre(HasSubstr("rank 15 has called it"),
                                        HasSubstr("waits for that of rank 0 in a group like it")));
  broadcast(0, 0, Bytes(42));

  const auto values = recorder_.All<ValuesNotice>(3);
  ASSERT_THAT(values, SizeIs(1));
  EXPECT_TRUE(values[0].known);
  EXPECT_EQ(values[0].payload, Bytes(42));
}

TEST_F(FoldedJobTest, RowsOfOneClassThatCallDifferentlyShowWhatRanksDifferBy) {
  const std::vector<std::uint32_t> first = {0, 1, 2, 3}, last = {12, 13, 14, 15};
  ASSERT_TRUE(job_.Join(0, "a", 4, Arriving(0, first)).has_value());
  ASSERT_TRUE(job_.Join(3, "b", 4, Arriving(15, last)).has_value());
  const auto reduce = [&](std::uint32_t server, std::int32_t rank, std::uint64_t count) {
    ASSERT_TRUE(job_.Issue(
        server,
        {.communicator = recorder_.All<JoinedNotice>(server).at(0).communicator,
         .rank = rank,
         .operation = {
             .kind = Kind::kAllReduce, .data_type = kInt64, .count = count, .bytes = 8 * count}}));
  };

  reduce(3, 3, 9);
  reduce(0, 0, 8);

  const auto failed = recorder_.All<FailedNotice>(0);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_THAT(failed[0].reason, HasSubstr("rank 0 calls all_reduce (sum) of 8 int64; rank 15 calls "
                                          "all_reduce (sum) of 9 int64"));
  EXPECT_THAT(failed[0].ranks_differ_by, ElementsAre(folding::Dimension{.stride = 4, .size = 4}));
}

TEST_F(FoldedJobTest, ARingOfTransfersClosesOverMirroredRanks) {
  const std::uint64_t id = JoinWorld();
  for (const std::int32_t rank : {0, 15}) {
    const Operation step = {.kind = Kind::kPointToPoint,
                            .transfers = {{.send = true, .peer = (rank + 1) % 16, .bytes = 64},
                                          {.send = false, .peer = (rank + 15) % 16, .bytes = 64}}};
    const std::uint32_t server = ServerOf(static_cast<std::uint32_t>(rank));
    ASSERT_TRUE(job_.Issue(server, {.communicator = id, .rank = rank, .operation = step}));
    ASSERT_TRUE(job_.Post(
        server,
        {.communicator = id, .rank = rank, .point_to_point = true, .ready = SimTime{1000 + rank}}));
  }

  // 0 to 1, 14 to 15, and 15 to 0.
  ASSERT_THAT(recorder_.started, SizeIs(3));
  for (const flow::Transfer& transfer : recorder_.started) {
    job_.Finished({.key = transfer.key, .start = transfer.start, .finish = SimTime{5000}});
  }
  EXPECT_THAT(recorder_.All<CommittedNotice>(0), SizeIs(1));
  EXPECT_THAT(recorder_.All<CommittedNotice>(3), SizeIs(1));
  EXPECT_THAT(job_.Waits(), IsEmpty());
}

TEST_F(FoldedJobTest, ARankThatOnlySendsToAMirroredRankShowsWhatRanksDifferBy) {
  const std::uint64_t id = JoinWorld();
  // The first stage of a pipeline of four.
  const Operation send = {.kind = Kind::kPointToPoint,
                          .transfers = {{.send = true, .peer = 4, .bytes = 64}}};
  ASSERT_TRUE(job_.Issue(0, {.communicator = id, .rank = 0, .operation = send}).has_value());

  for (const std::uint32_t server : {0u, 3u}) {
    const auto failed = recorder_.All<FailedNotice>(server);
    ASSERT_THAT(failed, SizeIs(1));
    EXPECT_THAT(
        failed[0].reason,
        HasSubstr("rank 0 sends to or receives from rank 4, which is mirrored from rank 0"));
    EXPECT_THAT(failed[0].ranks_differ_by, ElementsAre(folding::Dimension{.stride = 4, .size = 4}));
  }
  EXPECT_THAT(recorder_.started, IsEmpty());
}

TEST_F(FoldedJobTest, TransfersOfAStageLoadTheFabricForAllItsMirroredRanks) {
  // Four stages of four ranks; the first rank of each is live.
  JobPlan plan = PlanOf({0});
  plan.fold = *folding::Fold::Make(
      {.ranks = kRanks, .dimensions = {{.stride = 4, .size = 4}}, .live_per_class = 1});
  Recorder recorder;
  Job job(8, topology_, plan, recorder);
  const std::vector<std::uint32_t> stages = {0, 4, 8, 12};
  for (const std::uint32_t rank : stages) {
    ASSERT_TRUE(job.Join(ServerOf(rank), "pp", 4, Arriving(rank, stages)).has_value());
  }
  const std::uint64_t id = recorder.All<JoinedNotice>(0).at(0).communicator;
  const auto meet = [&](std::uint32_t server, std::int32_t rank, bool send, std::int32_t peer) {
    const Operation call = {.kind = Kind::kPointToPoint,
                            .transfers = {{.send = send, .peer = peer, .bytes = 64}}};
    ASSERT_TRUE(job.Issue(server, {.communicator = id, .rank = rank, .operation = call}));
    ASSERT_TRUE(job.Post(server, {.communicator = id, .rank = rank, .point_to_point = true}));
  };

  meet(0, 0, true, 1);
  meet(1, 1, false, 0);

  // Ranks 0, 1, 2 and 3 send to 4, 5, 6 and 7, each by a NIC of its own.
  ASSERT_THAT(recorder.started, SizeIs(4));
  EXPECT_NE(recorder.started[0].Links()[0].link, recorder.started[3].Links()[0].link);
  for (const flow::Transfer& transfer : recorder.started) {
    job.Finished({.key = transfer.key, .start = transfer.start, .finish = SimTime{5000}});
  }
  EXPECT_THAT(recorder.All<CommittedNotice>(0), SizeIs(1));
}

TEST_F(FoldedJobTest, GroupsOfMirroredRanksLoadTheFabricAsTheirOriginalDoes) {
  const std::uint64_t world = JoinWorld();
  Arrival arrival = Arriving(0, {0, 4, 8, 12});
  arrival.color = 1;
  ASSERT_TRUE(job_.Split(0, world, arrival).has_value());
  const std::uint64_t group = recorder_.All<JoinedNotice>(0).back().communicator;
  const Operation sum = {
      .kind = Kind::kAllReduce, .data_type = kInt64, .count = 1 << 20, .bytes = 8 << 20};
  ASSERT_TRUE(job_.Issue(0, {.communicator = group, .rank = 0, .operation = sum}).has_value());
  ASSERT_TRUE(job_.Post(0, {.communicator = group, .rank = 0}).has_value());

  // Rank 15 is live: its group {3, 7, 11, 15} tells for itself.
  ASSERT_THAT(recorder_.started, SizeIs(3));
  EXPECT_EQ(recorder_.started[1].start, recorder_.started[0].start);
  EXPECT_EQ(recorder_.started[1].alone, recorder_.started[0].alone);
  EXPECT_EQ(recorder_.started[1].Links().size(), recorder_.started[0].Links().size());
  EXPECT_NE(recorder_.started[1].Links()[0].link, recorder_.started[0].Links()[0].link);
  for (const flow::Transfer& transfer : recorder_.started) {
    job_.Finished({.key = transfer.key, .start = transfer.start, .finish = SimTime{5000}});
  }
  EXPECT_THAT(recorder_.All<CommittedNotice>(0), SizeIs(1));
}

TEST_F(FoldedJobTest, ALiveRankThatGoesFailsWhoWaitsForIt) {
  const std::uint64_t id = JoinWorld();
  ASSERT_TRUE(job_.Issue(0, Gathering(id, 0, Bytes(0))).has_value());

  job_.Disconnect(3);

  const auto failed = recorder_.All<FailedNotice>(0);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_THAT(failed[0].reason, HasSubstr("rank 15"));
}

TEST_F(FoldedJobTest, RanksOnOtherGpusThanTheirNumbersSayAreRefused) {
  Arrival arrival = Arriving(0, World());
  arrival.member.device = 2;

  const auto joined = job_.Join(0, "id", kRanks, arrival);

  ASSERT_FALSE(joined.has_value());
  EXPECT_THAT(joined.error().message, HasSubstr("rank 0 uses GPU 2"));
}

TEST_F(FoldedJobTest, WhoWaitsForALiveRankIsDescribedWithoutTheMirroredRanks) {
  ASSERT_TRUE(job_.Join(0, "id", kRanks, Arriving(0, World())).has_value());

  EXPECT_THAT(job_.Waits(), ElementsAre(HasSubstr("its rank 15 has not come")));
}

}  // namespace
}  // namespace eidolon::network::communicator
