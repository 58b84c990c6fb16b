// Ends that are told before the horizon comes to them.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "services/base/random.h"
#include "services/network/simulation/fake_ranks.h"
#include "services/network/simulation/servers_test.h"
#include "services/network/simulation/simulation.h"

namespace eidolon::network::simulation {
namespace {

using base::SimTime;
using collective::Kind;
using communicator::CommittedNotice;
using communicator::JoinedNotice;
using communicator::Notice;

// Two servers with two ranks each: all of them in one communicator, and those of server 0 in
// another.
class LookaheadTest : public testing::Test, protected Listener {
 protected:
  LookaheadTest() : simulation_(H100(2), *this) {
    simulation_.AddJob(1, {.placement = {0, 1}});
    for (std::uint32_t server : {0u, 1u}) EXPECT_TRUE(simulation_.Connect(1, server));
    for (std::int32_t rank = 0; rank < 4; ++rank) Join("all", 4, rank, rank);
    for (std::int32_t rank = 0; rank < 2; ++rank) Join("pair", 2, rank, rank);
    simulation_.Progress();
  }

  void Tell(std::uint64_t, std::uint32_t server, const Notice& notice) override {
    if (const auto* joined = std::get_if<JoinedNotice>(&notice)) {
      (joined->size == 4 ? all_ : pair_) = joined->communicator;
      ++processed_[server];
    } else if (const auto* committed = std::get_if<CommittedNotice>(&notice)) {
      committed_.push_back(*committed);
    }
  }
  void Ended(collective::Algorithm, collective::Protocol) override { ++ended_; }

  void Join(const std::string& id, std::int32_t size, std::int32_t global, std::int32_t rank) {
    const auto server = static_cast<std::uint32_t>(global) / 2;
    EXPECT_TRUE(simulation_.Join(1, server, id, size,
                                 {.request = 1,
                                  .member = {.global_rank = global,
                                             .server = server,
                                             .device = static_cast<std::uint32_t>(global) % 2},
                                  .rank = rank}));
  }
  void Issue(std::uint64_t communicator, std::int32_t rank, std::uint64_t sequence) {
    constexpr std::uint64_t kBytes = 1 << 20;
    EXPECT_TRUE(simulation_.Issue(
        1, static_cast<std::uint32_t>(rank) / 2,
        {.communicator = communicator,
         .sequence = sequence,
         .rank = rank,
         .operation = {
             .kind = Kind::kAllReduce, .data_type = 1, .count = kBytes, .bytes = kBytes}}));
  }
  void Post(std::uint64_t communicator, std::int32_t rank, std::uint64_t sequence,
            std::int64_t ready) {
    EXPECT_TRUE(simulation_.Post(
        1, static_cast<std::uint32_t>(rank) / 2,
        {.communicator = communicator, .sequence = sequence, .rank = rank, .ready = {ready}}));
  }
  void RunPair(std::uint64_t sequence, std::int64_t ready) {
    for (std::int32_t rank : {0, 1}) Issue(pair_, rank, sequence);
    for (std::int32_t rank : {0, 1}) Post(pair_, rank, sequence, ready);
  }
  // Promises for both of its ranks, and for what is reported to it.
  void Promise(std::uint32_t server, SimTime first, SimTime second, SimTime lower_bound = {}) {
    EXPECT_TRUE(simulation_.Keep(
        1, server,
        {.lower_bound = lower_bound,
         .processed = processed_[server],
         .own_bounds = {{.device = 0, .time = first}, {.device = 1, .time = second}}}));
    simulation_.Progress();
  }

  Simulation simulation_;
  std::uint64_t all_ = 0;
  std::uint64_t pair_ = 0;
  std::uint64_t processed_[2] = {};
  std::vector<CommittedNotice> committed_;
  int ended_ = 0;
};

constexpr std::int64_t kLater = 1'000'000'000'000;

TEST_F(LookaheadTest, ACollectiveOfOneServerIsToldThoughOthersAreBehind) {
  RunPair(0, 1000);
  Promise(0, {kLater}, {1500});
  EXPECT_TRUE(committed_.empty()) << "a rank may still load its links";

  Promise(0, {kLater}, {kLater});
  ASSERT_EQ(committed_.size(), 1u);
  EXPECT_TRUE(committed_[0].foreseen);
  EXPECT_EQ(committed_[0].start, SimTime{1000});
  EXPECT_EQ(ended_, 0) << "the engine is not there yet";

  // The others come to the same end, which is not told twice.
  ++processed_[0];
  Promise(0, {kLater}, {kLater}, {kLater});
  Promise(1, {kLater}, {kLater}, {kLater});
  EXPECT_EQ(committed_.size(), 1u);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(simulation_.statistics().foreseen, 1u);
}

TEST_F(LookaheadTest, WhatIsForeseenIsWhatTheEngineFinds) {
  RunPair(0, 1000);
  Promise(0, {}, {}, {kLater});
  Promise(1, {}, {}, {kLater});
  ASSERT_EQ(committed_.size(), 1u);
  EXPECT_FALSE(committed_[0].foreseen);
  ++processed_[0];

  RunPair(1, kLater + 1000);
  Promise(0, {2 * kLater}, {2 * kLater}, {kLater});
  ASSERT_EQ(committed_.size(), 2u);
  EXPECT_TRUE(committed_[1].foreseen);
  EXPECT_EQ(committed_[1].finish - committed_[1].start, committed_[0].finish - committed_[0].start);
  EXPECT_EQ(committed_[1].spent->latency, committed_[0].spent->latency);
  EXPECT_EQ(committed_[1].spent->pace, committed_[0].spent->pace);
  EXPECT_EQ(committed_[1].spent->links, committed_[0].spent->links);
}

TEST_F(LookaheadTest, AnOpenCallThatMayPassOverTheSameLinksIsWaitedFor) {
  for (std::int32_t rank : {0, 1}) Issue(all_, rank, 0);
  RunPair(0, 1000);
  Promise(0, {kLater}, {kLater});
  EXPECT_TRUE(committed_.empty()) << "the other server may come at any time";
}

TEST_F(LookaheadTest, ACollectiveOfSeveralServersIsNotForeseen) {
  for (std::int32_t rank = 0; rank < 4; ++rank) Issue(all_, rank, 0);
  for (std::int32_t rank = 0; rank < 4; ++rank) Post(all_, rank, 0, 1000);
  Promise(0, {kLater}, {kLater});
  Promise(1, {kLater}, {kLater});
  EXPECT_TRUE(committed_.empty());
}

// Servers whose two ranks mostly call collectives of their own, sometimes one of all, and ask.
Scenario MostlyLocal(std::uint64_t seed) {
  base::Random random(seed);
  Scenario scenario{.servers = 2 + static_cast<std::uint32_t>(random.Below(2)),
                    .ranks_per_server = 2};
  const std::uint32_t ranks = 2 * scenario.servers;
  scenario.programs.resize(ranks);
  scenario.groups.resize(scenario.servers + 1);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    scenario.groups[rank / 2].push_back(rank);
    scenario.groups.back().push_back(rank);
  }
  const auto call = [&](std::uint32_t group) {
    const std::uint64_t bytes = std::uint64_t{1} << random.Below(26);
    const Step step{
        .kind = Step::Kind::kCollective,
        .group = group,
        .operation = {.kind = Kind::kAllReduce, .data_type = 1, .count = bytes, .bytes = bytes}};
    for (const std::uint32_t rank : scenario.groups[group]) {
      scenario.programs[rank].push_back(step);
    }
  };
  for (int action = 0; action < 80; ++action) {
    const auto rank = static_cast<std::uint32_t>(random.Below(ranks));
    const std::uint64_t kind = random.Below(20);
    if (kind == 0) call(scenario.servers);
    if (kind > 0 && kind < 8) call(rank / 2);
    auto& program = scenario.programs[rank];
    if (kind >= 8 && kind < 12) {
      program.push_back({.kind = Step::Kind::kCompute,
                         .picoseconds = static_cast<std::int64_t>(random.Below(100'000'000))});
    }
    if (kind >= 12 && kind < 18) program.push_back({.kind = Step::Kind::kQuery});
    if (kind >= 18) program.push_back({.kind = Step::Kind::kSync});
  }
  for (auto& program : scenario.programs) program.push_back({.kind = Step::Kind::kSync});
  return scenario;
}

std::uint64_t ForeseenWhileAllSeeTheSame(Scenario scenario, std::uint64_t seed) {
  scenario.own_bounds = false;
  FakeRanks without(scenario, H100(4), seed);
  const std::vector<std::string> expected = without.Run();
  EXPECT_EQ(without.simulation().statistics().foreseen, 0u);
  scenario.own_bounds = true;
  std::uint64_t foreseen = 0;
  for (std::uint64_t shuffle = 1; shuffle <= 4; ++shuffle) {
    FakeRanks with(scenario, H100(4), shuffle * 7919 + seed);
    EXPECT_EQ(with.Run(), expected) << "seed " << seed << " shuffle " << shuffle;
    EXPECT_TRUE(with.finished());
    foreseen += with.simulation().statistics().foreseen;
  }
  return foreseen;
}

TEST(LookaheadPropertyTest, RanksSeeTheSameWithAndWithoutLookahead) {
  std::uint64_t foreseen = 0;
  for (std::uint64_t seed = 1; seed <= 200 && !testing::Test::HasFailure(); ++seed) {
    foreseen += ForeseenWhileAllSeeTheSame(RandomScenario(seed), seed);
    foreseen += ForeseenWhileAllSeeTheSame(MostlyLocal(seed), seed);
  }
  EXPECT_GT(foreseen, 100u);
}

}  // namespace
}  // namespace eidolon::network::simulation
