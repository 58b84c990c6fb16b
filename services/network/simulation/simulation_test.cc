#include "services/network/simulation/simulation.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/network/simulation/fake_ranks.h"
#include "services/network/simulation/servers_test.h"

namespace eidolon::network::simulation {
namespace {

using base::Duration;
using base::SimTime;
using collective::Kind;
using communicator::CommittedNotice;
using communicator::DeadlockNotice;
using communicator::FailedNotice;
using communicator::JoinedNotice;
using communicator::Notice;
using communicator::SafeThroughNotice;

class Recorder final : public Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t server, const Notice& notice) override {
    if (told.size() <= server) told.resize(server + 1);
    told[server].push_back(notice);
  }
  void Ended(collective::Algorithm, collective::Protocol) override { ++ended; }

  template <typename T>
  std::vector<T> All(std::uint32_t server) const {
    std::vector<T> all;
    if (server >= told.size()) return all;
    for (const Notice& notice : told[server]) {
      if (const T* match = std::get_if<T>(&notice)) all.push_back(*match);
    }
    return all;
  }

  std::vector<std::vector<Notice>> told;
  int ended = 0;
};

// Two servers with one rank each, joined in one communicator.
class SimulationTest : public testing::Test {
 protected:
  SimulationTest() : simulation_(H100(2), recorder_) {
    simulation_.AddJob(1, {.placement = {0, 1}});
    for (std::uint32_t server : {0u, 1u}) {
      EXPECT_TRUE(simulation_.Connect(1, server).has_value());
      EXPECT_TRUE(
          simulation_
              .Join(1, server, "id", 2,
                    {.request = 1,
                     .member = {.global_rank = static_cast<std::int32_t>(server), .server = server},
                     .rank = static_cast<std::int32_t>(server)})
              .has_value());
    }
    simulation_.Progress();
    communicator_ = recorder_.All<JoinedNotice>(0).at(0).communicator;
    processed_ = 1;
  }

  void Issue(std::uint32_t server, std::uint64_t sequence, std::uint64_t count = 1 << 20) {
    EXPECT_TRUE(simulation_
                    .Issue(1, server,
                           {.communicator = communicator_,
                            .sequence = sequence,
                            .rank = static_cast<std::int32_t>(server),
                            .operation = {.kind = Kind::kAllReduce,
                                          .data_type = 1,
                                          .count = count,
                                          .bytes = count}})
                    .has_value());
  }
  void Post(std::uint32_t server, std::uint64_t sequence, std::int64_t ready) {
    EXPECT_TRUE(simulation_
                    .Post(1, server,
                          {.communicator = communicator_,
                           .sequence = sequence,
                           .rank = static_cast<std::int32_t>(server),
                           .ready = {ready}})
                    .has_value());
  }
  void Both(std::uint64_t sequence, std::int64_t ready) {
    for (std::uint32_t server : {0u, 1u}) {
      Issue(server, sequence);
      Post(server, sequence, ready);
    }
  }
  void Keep(std::uint32_t server, horizon::Promise promise) {
    promise.processed = std::max(promise.processed, processed_);
    EXPECT_TRUE(simulation_.Keep(1, server, promise).has_value());
    simulation_.Progress();
  }

  Recorder recorder_;
  Simulation simulation_;
  std::uint64_t communicator_ = 0;
  std::uint64_t processed_ = 0;
};

constexpr std::int64_t kSecond = 1'000'000'000'000;

TEST_F(SimulationTest, CommitsOnlyBehindTheHorizon) {
  Both(0, kSecond);
  Keep(0, {.lower_bound = SimTime::Max()});
  Keep(1, {.lower_bound = {kSecond}});
  EXPECT_TRUE(recorder_.All<CommittedNotice>(0).empty());

  Keep(1, {.lower_bound = {2 * kSecond}});

  const auto committed = recorder_.All<CommittedNotice>(0);
  ASSERT_EQ(committed.size(), 1u);
  EXPECT_EQ(committed[0].start, SimTime{kSecond});
  const auto cost = simulation_.Estimate(
      1, communicator_,
      {.kind = Kind::kAllReduce, .data_type = 1, .count = 1 << 20, .bytes = 1 << 20});
  EXPECT_EQ(committed[0].finish, SimTime{kSecond} + cost->Total());
  EXPECT_EQ(recorder_.ended, 1);
}

TEST_F(SimulationTest, WaitsForAnAgentToTakeInWhatItWasTold) {
  Both(0, kSecond);
  Both(1, 2 * kSecond);
  Keep(0, {.lower_bound = SimTime::Max()});
  Keep(1, {.lower_bound = SimTime::Max()});
  // The first commit may make either agent act from its finish on.
  EXPECT_EQ(recorder_.All<CommittedNotice>(0).size(), 1u);

  Keep(0, {.lower_bound = SimTime::Max(), .processed = 2});
  EXPECT_EQ(recorder_.All<CommittedNotice>(0).size(), 1u);
  Keep(1, {.lower_bound = SimTime::Max(), .processed = 2});

  EXPECT_EQ(recorder_.All<CommittedNotice>(0).size(), 2u);
}

TEST_F(SimulationTest, AnswersAQuestionAboutATime) {
  Keep(0, {.lower_bound = {50}, .wanted = SimTime{50}});
  EXPECT_TRUE(recorder_.All<SafeThroughNotice>(0).empty());

  Keep(1, {.lower_bound = {60}});

  const auto safe = recorder_.All<SafeThroughNotice>(0);
  ASSERT_EQ(safe.size(), 1u);
  EXPECT_EQ(safe[0].time, SimTime{50});
  EXPECT_FALSE(safe[0].released);
}

TEST_F(SimulationTest, ASleepingJobIsReleasedToItsEarliestEvent) {
  Both(0, kSecond);
  Keep(0, {.lower_bound = {7}, .quiescent = true});
  EXPECT_TRUE(recorder_.All<CommittedNotice>(0).empty());

  Keep(1, {.lower_bound = {7}, .quiescent = true});

  const auto committed = recorder_.All<CommittedNotice>(0);
  ASSERT_EQ(committed.size(), 1u);
  const auto safe = recorder_.All<SafeThroughNotice>(1);
  ASSERT_FALSE(safe.empty());
  EXPECT_TRUE(safe.back().released);
  EXPECT_EQ(safe.back().time, committed[0].finish);
}

TEST_F(SimulationTest, APostBeforeTheHorizonIsMovedAndCounted) {
  Both(0, kSecond);
  Keep(0, {.lower_bound = SimTime::Max()});
  Keep(1, {.lower_bound = SimTime::Max()});

  Both(1, 5);

  EXPECT_EQ(simulation_.statistics().clamped, 1u);
}

TEST_F(SimulationTest, ADeadlockNamesWhoWaits) {
  Issue(0, 0);
  Post(0, 0, 10);
  Keep(0, {.lower_bound = SimTime::Max(), .quiescent = true});
  EXPECT_FALSE(simulation_.Stuck());
  Keep(1, {.lower_bound = SimTime::Max(), .quiescent = true});
  ASSERT_TRUE(simulation_.Stuck());

  simulation_.ReportDeadlock();

  for (std::uint32_t server : {0u, 1u}) {
    const auto deadlock = recorder_.All<DeadlockNotice>(server);
    ASSERT_EQ(deadlock.size(), 1u);
    EXPECT_EQ(deadlock[0].report,
              "every process waits and nothing is left that could wake one:\n"
              "  communicator " +
                  std::to_string(communicator_) +
                  " of 2 ranks: collective 0, "
                  "all_reduce (sum) of 1048576 uint8 (1048576 bytes): rank 0 waits; rank 1 has not "
                  "called it");
  }
  EXPECT_FALSE(simulation_.Stuck());
}

TEST_F(SimulationTest, AStandstillIsConfirmedWhenEveryoneSaysAgainThatItSleeps) {
  const horizon::Promise asleep = {.lower_bound = SimTime::Max(), .quiescent = true};
  Issue(0, 0);
  Post(0, 0, 10);
  for (const std::uint32_t server : {0u, 1u}) Keep(server, asleep);
  ASSERT_TRUE(simulation_.Stuck());
  ASSERT_FALSE(simulation_.WasAsked());

  simulation_.AskAgain();

  const auto asked = recorder_.All<SafeThroughNotice>(0);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(asked[0].released);
  EXPECT_EQ(asked[0].time, SimTime{});
  Keep(0, asleep);
  EXPECT_FALSE(simulation_.Stuck());  // The agent of server 1 has not answered: it may be stopped.
  Keep(1, asleep);
  EXPECT_TRUE(simulation_.Stuck() && simulation_.WasAsked());
  Issue(1, 0);
  EXPECT_FALSE(simulation_.WasAsked()) << "something moved since";
}

TEST_F(SimulationTest, ASleepingJobThatWaitsForNothingIsNoDeadlock) {
  Keep(0, {.lower_bound = SimTime::Max(), .quiescent = true});
  Keep(1, {.lower_bound = SimTime::Max(), .quiescent = true});

  EXPECT_FALSE(simulation_.Stuck());
}

TEST_F(SimulationTest, AVanishedAgentFreesTheHorizonAndFailsWhatNeedsIt) {
  Issue(0, 0);
  Post(0, 0, 10);
  Keep(0, {.lower_bound = {90}, .wanted = SimTime{90}});

  simulation_.Disconnect(1, 1);
  simulation_.Progress();

  EXPECT_EQ(recorder_.All<FailedNotice>(0).size(), 1u);
  EXPECT_EQ(recorder_.All<SafeThroughNotice>(0).size(), 1u);
  simulation_.Disconnect(1, 0);
  simulation_.RemoveJob(1);
  EXPECT_EQ(simulation_.active_transfers(), 0u);
}

TEST_F(SimulationTest, RemovingAJobLeavesNothingBehind) {
  Both(0, kSecond);
  EXPECT_EQ(simulation_.active_transfers(), 1u);

  simulation_.RemoveJob(1);

  EXPECT_EQ(simulation_.active_transfers(), 0u);
  EXPECT_FALSE(simulation_.Connect(1, 0).has_value());
}

TEST_F(SimulationTest, RefusesASecondSessionOfAServer) {
  EXPECT_EQ(simulation_.Connect(1, 0).error().message, "server 0 has connected before");
  EXPECT_EQ(simulation_.Connect(1, 9).error().message, "server 9 of a job with 2 servers");
}

TEST(SimulationSharedTest, ASecondJobBeginsAtItsOwnZero) {
  Recorder recorder;
  Simulation simulation(H100(4, 2), recorder);
  simulation.AddJob(1, {.placement = {0, 1}});
  simulation.AddJob(2, {.placement = {2}});
  ASSERT_TRUE(simulation.Connect(2, 0).has_value());
  ASSERT_TRUE(simulation.Join(2, 0, "id", 1, {.request = 1, .ready = {5}}).has_value());

  const auto joined = recorder.All<JoinedNotice>(0);

  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].finish, SimTime{5} + Duration::Milliseconds(101));
}

// Leaves of one server each under four spines, statically routed.
topology::Cluster Spines(std::uint32_t servers) {
  topology::Cluster cluster{.name = "c",
                            .servers = servers,
                            .gpus_per_server = 4,
                            .gpu = "H100-SXM5-80GB",
                            .nvlink_generation = 4,
                            .nvlink_switched = true,
                            .nics = 4,
                            .nic_gigabits_per_second = 400,
                            .fabric = "leaf-spine"};
  cluster.plan = {.routing = topology::Routing::kEcmp, .cards_per_leaf = 4, .spines = 4};
  return cluster;
}

// Returns how long one all-reduce of 1 GB between two servers' first ranks takes.
double SecondsOf(const topology::Cluster& cluster, Recorder& recorder) {
  Simulation simulation(*topology::Topology::Make(cluster), recorder);
  simulation.AddJob(1, {.placement = {0, 1}});
  for (std::uint32_t server : {0u, 1u}) {
    EXPECT_TRUE(simulation.Connect(1, server).has_value());
    const auto rank = static_cast<std::int32_t>(server);
    EXPECT_TRUE(
        simulation
            .Join(1, server, "id", 2,
                  {.request = 1, .member = {.global_rank = rank, .server = server}, .rank = rank})
            .has_value());
  }
  simulation.Progress();
  const std::uint64_t communicator = recorder.All<JoinedNotice>(0).at(0).communicator;
  for (std::uint32_t server : {0u, 1u}) {
    const auto rank = static_cast<std::int32_t>(server);
    constexpr std::uint64_t kBytes = 1'000'000'000;
    EXPECT_TRUE(simulation
                    .Issue(1, server,
                           {.communicator = communicator,
                            .rank = rank,
                            .operation = {.kind = Kind::kAllReduce,
                                          .data_type = 1,
                                          .count = kBytes,
                                          .bytes = kBytes}})
                    .has_value());
    EXPECT_TRUE(
        simulation.Post(1, server, {.communicator = communicator, .rank = rank, .ready = {kSecond}})
            .has_value());
  }
  for (std::uint32_t server : {0u, 1u}) {
    EXPECT_TRUE(
        simulation
            .Keep(1, server, {.lower_bound = SimTime::Max(), .processed = 1, .quiescent = true})
            .has_value());
  }
  simulation.Progress();
  if (simulation.Stuck()) simulation.ReportDeadlock();
  const auto committed = recorder.All<CommittedNotice>(0);
  return committed.empty() ? -1 : (committed[0].finish - committed[0].start).Seconds();
}

double SecondsWith(const std::vector<topology::Fault>& faults,
                   const std::vector<topology::Background>& background = {}) {
  topology::Cluster cluster = Spines(2);
  cluster.faults = faults;
  cluster.background = background;
  Recorder recorder;
  return SecondsOf(cluster, recorder);
}

TEST(SimulationFaultsTest, ASlowerNicDelaysWhatIsLeftOfACollective) {
  const double free = SecondsWith({});
  const double half = SecondsWith({{0, "NIC 0 of server 0", 0.5}});
  const double late = SecondsWith({{1 + free / 2, "NIC 0 of server 0", 0.5}});
  const double both =
      SecondsWith({{1 + free / 2, "NIC 0 of server 0", 1}, {0.5, "NIC 0 of server 0", 0.5}});

  EXPECT_GT(half, 1.7 * free);
  EXPECT_NEAR(late, free / 2 + half / 2, 0.01 * free);
  // Half the time at half the speed, and the rest as usual.
  EXPECT_NEAR(both, free / 2 + free * (1 - free / 2 / half), 0.01 * free);
  EXPECT_EQ(SecondsWith({{2 + free, "NIC 0 of server 0", 0.1}}), free);
}

TEST(SimulationFaultsTest, AFailedLinksTrafficCrowdsTheOthers) {
  const double free = SecondsWith({});
  std::vector<topology::Fault> three;
  for (const char* spine : {"0", "1", "2"}) {
    three.push_back({1 + free / 2, std::string("leaf 0, up to spine ") + spine, 0});
  }
  const double rerouted = SecondsWith(three);

  // One link of 400 Gbit/s is left for a rank's one NIC.
  EXPECT_GE(rerouted, free);
  EXPECT_LT(rerouted, 3 * free);
}

TEST(SimulationFaultsTest, WhatIsCutOffWaitsForTheLinkOrIsReported) {
  const double free = SecondsWith({});
  EXPECT_NEAR(SecondsWith({{1 + free / 2, "leaf 0", 0}, {5, "leaf 0", 1}}), 4 + free / 2,
              0.01 * free);

  topology::Cluster cluster = Spines(2);
  cluster.faults = {{1, "leaf 0", 0}};
  Recorder recorder;
  EXPECT_EQ(SecondsOf(cluster, recorder), -1);
  const auto deadlock = recorder.All<DeadlockNotice>(0);
  ASSERT_EQ(deadlock.size(), 1u);
  EXPECT_THAT(deadlock[0].report,
              testing::HasSubstr("1 transfers stand still: a link on their way has failed (leaf 0, "
                                 "up to spine 0; leaf 0, down to spine 0; "));
}

// With adaptive routing, which makes one link of a leaf's four; together they carry one NIC.
double MergedSecondsWith(const std::vector<topology::Fault>& faults, Recorder& recorder) {
  topology::Cluster cluster = Spines(2);
  cluster.plan.routing = topology::Routing::kAdaptive;
  cluster.oversubscription = 4;
  cluster.faults = faults;
  return SecondsOf(cluster, recorder);
}

TEST(SimulationFaultsTest, OneOfMergedLinksIsLostCapacityAndTheLastAnOutage) {
  const auto seconds = [](const std::vector<topology::Fault>& faults) {
    Recorder recorder;
    return MergedSecondsWith(faults, recorder);
  };
  const double free = seconds({});
  std::vector<topology::Fault> three;
  for (const char* spine : {"0", "1", "2"}) {
    three.push_back({0, std::string("leaf 0 to spine ") + spine, 0});
  }
  const double quarter = seconds(three);
  EXPECT_EQ(seconds({three[0]}), seconds({{0, "leaf 0", 0.75}}));
  EXPECT_EQ(quarter, seconds({{0, "leaf 0", 0.25}}));
  EXPECT_GT(quarter, 3 * free);

  // Half of the work at a quarter of the speed, nothing until second 3, and the rest at a quarter.
  std::vector<topology::Fault> all = three;
  all.push_back({1 + quarter / 2, "leaf 0 to spine 3", 0});
  std::vector<topology::Fault> back = all;
  back.push_back({3, "leaf 0 to spine 0", 1});
  ASSERT_LT(quarter, 2);
  EXPECT_NEAR(seconds(back), 2 + quarter / 2, 0.02 * quarter);

  Recorder recorder;
  EXPECT_EQ(MergedSecondsWith(all, recorder), -1);
  const auto deadlock = recorder.All<DeadlockNotice>(0);
  ASSERT_EQ(deadlock.size(), 1u);
  EXPECT_THAT(deadlock[0].report,
              testing::HasSubstr("a link on their way has failed (leaf 0, up; leaf 0, down)"));
}

TEST(SimulationFaultsTest, BackgroundTrafficTakesItsShare) {
  const double free = SecondsWith({});
  const double shared = SecondsWith({}, {{.from = 0, .to = 1, .gigabits_per_second = 400}});

  EXPECT_GT(shared, 1.2 * free);
  EXPECT_EQ(SecondsWith({}, {{.from = 0, .to = 1, .rail = 3, .gigabits_per_second = 1}}), free);
}

TEST(SimulationPropertyTest, FaultsAndBackgroundLeaveResultsIndependentOfTheInterleaving) {
  std::size_t happened = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    topology::Cluster cluster = Spines(4);
    cluster.background = {{.from = 0, .to = 1, .rail = 1, .gigabits_per_second = 300}};
    for (std::uint32_t at = 0; at < 8; ++at) {
      const double when = 0.1 + 0.0003 * at;
      const std::string spine = std::to_string((seed + at) % 4);
      cluster.faults.push_back({when, "leaf 1, up to spine " + spine, at % 2 == 0 ? 0.0 : 0.3});
      cluster.faults.push_back({when + 0.0002, "leaf 1, up to spine " + spine, 1});
      cluster.faults.push_back({when + 0.0001, "NIC 0 of server 2", at % 2 == 0 ? 0.4 : 1});
    }
    const Scenario scenario = RandomScenario(seed);
    std::vector<std::string> expected;
    for (std::uint64_t shuffle = 1; shuffle <= 4; ++shuffle) {
      FakeRanks ranks(scenario, *topology::Topology::Make(cluster), shuffle * 7919 + seed);

      const std::vector<std::string> seen = ranks.Run();

      ASSERT_TRUE(ranks.finished()) << "seed " << seed << " shuffle " << shuffle;
      happened += ranks.simulation().changes();
      if (expected.empty()) expected = seen;
      ASSERT_EQ(seen, expected) << "seed " << seed << " shuffle " << shuffle;
    }
  }
  EXPECT_GT(happened, 0u);
}

// The heart of the matter: what ranks see is a function of their programs alone.
TEST(SimulationPropertyTest, RanksSeeTheSameWhateverTheInterleaving) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Scenario scenario = RandomScenario(seed);
    std::vector<std::string> expected;
    for (std::uint64_t shuffle = 1; shuffle <= 6; ++shuffle) {
      FakeRanks ranks(scenario, H100(4, 2), shuffle * 7919 + seed);

      const std::vector<std::string> seen = ranks.Run();

      ASSERT_TRUE(ranks.finished()) << "seed " << seed << " shuffle " << shuffle;
      ASSERT_EQ(ranks.simulation().statistics().clamped, 0u) << "seed " << seed;
      ASSERT_FALSE(seen.empty());
      if (expected.empty()) expected = seen;
      ASSERT_EQ(seen, expected) << "seed " << seed << " shuffle " << shuffle;
    }
  }
}

}  // namespace
}  // namespace eidolon::network::simulation
