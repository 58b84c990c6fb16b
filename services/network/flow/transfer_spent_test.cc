// Tests the parts of the time of transfers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "services/base/random.h"
#include "services/network/flow/transfer_set.h"

namespace eidolon::network::flow {
namespace {

using base::Duration;
using base::SimTime;

struct Timing {
  std::int64_t start = 0;
  std::int64_t latency = 0;
  std::int64_t alone = 0;
};

Transfer Make(std::uint64_t id, const Timing& timing, std::vector<LinkUse> uses) {
  return {.key = {.sequence = id},
          .start = {timing.start},
          .latency = {timing.latency},
          .alone = {timing.alone},
          .uses = ShareUses(std::move(uses))};
}

std::map<std::uint64_t, Finish> FinishesOf(TransferSet& set) {
  std::vector<Finish> finished;
  while (set.NextTime()) set.Advance(finished);
  std::map<std::uint64_t, Finish> by_id;
  for (Finish& finish : finished) by_id[finish.key.sequence] = std::move(finish);
  return by_id;
}

Duration SumOf(const Spent& spent) {
  Duration sum = spent.latency + spent.pace;
  for (const LinkTime& link : spent.links) sum += link.time;
  return sum;
}

using Links = std::vector<LinkTime>;

const std::vector<std::uint64_t> kCapacities = {1000, 1000};
const std::vector<std::uint8_t> kTiers = {3, 6};

TEST(TransferSpentTest, AtItsOwnSpeedATransferSpendsOnTheFullestLinkWhatItNeedsThere) {
  TransferSet set(kCapacities, kTiers);

  set.Add(Make(1, {.start = 7, .latency = 100, .alone = 1000}, {{0, 250}, {1, 750}}));

  const Spent spent = FinishesOf(set).at(1).spent;
  EXPECT_EQ(spent.latency, Duration{100});
  EXPECT_EQ(spent.links, (Links{{.link = 1, .tier = 6, .time = {750}}}));
  EXPECT_EQ(spent.pace, Duration{250});
}

TEST(TransferSpentTest, AFullLinkTakesTheTimeInWhichItHoldsATransfer) {
  TransferSet set(kCapacities, kTiers);

  set.Add(Make(1, {.alone = 1000}, {{0, 1000}, {1, 500}}));
  set.Add(Make(2, {.start = 2000, .alone = 1000}, {{0, 500}, {1, 1000}}));
  // Shares link 1 with the second one until that has ended, then runs at half of the link.
  set.Add(Make(3, {.start = 2000, .latency = 500, .alone = 1000}, {{1, 500}}));

  const auto finished = FinishesOf(set);
  EXPECT_EQ(finished.at(1).spent.links, (Links{{.link = 0, .tier = 3, .time = {1000}}}));
  EXPECT_EQ(finished.at(2).finish, SimTime{3500});
  EXPECT_EQ(finished.at(2).spent.links, (Links{{.link = 1, .tier = 6, .time = {1500}}}));
  EXPECT_EQ(finished.at(3).spent.latency, Duration{500});
  for (const auto& [id, finish] : finished) {
    EXPECT_EQ(SumOf(finish.spent), finish.finish - finish.start) << id;
  }
}

TEST(TransferSpentTest, ALinkThatGetsSlowerTakesTheRest) {
  TransferSet set(kCapacities, kTiers);
  set.Add(Make(1, {.alone = 1000}, {{0, 900}, {1, 500}}));
  std::vector<Finish> finished;
  set.Advance(finished);  // It begins.
  set.AdvanceTo({400});

  set.SetCapacity(1, 100);  // A fifth of what it would use.

  const Finish finish = FinishesOf(set).at(1);
  EXPECT_EQ(finish.finish, SimTime{400 + 5 * 600});
  EXPECT_EQ(finish.spent.pace, Duration{40});
  EXPECT_EQ(finish.spent.links,
            (Links{{.link = 0, .tier = 3, .time = {360}}, {.link = 1, .tier = 6, .time = {3000}}}));
}

TEST(TransferSpentTest, ATransferKeepsWhatItSpentBeforeItTookAnotherWay) {
  TransferSet set(kCapacities, kTiers);
  set.Add(Make(1, {.latency = 10, .alone = 1000}, {{0, 1000}}));
  std::vector<Finish> finished;
  set.Advance(finished);
  set.AdvanceTo({410});

  set.Reroute([](const Transfer&) { return ShareUses({{1, 1000}}); });

  const Finish finish = FinishesOf(set).at(1);
  EXPECT_EQ(finish.spent.latency, Duration{10});
  EXPECT_EQ(finish.spent.links,
            (Links{{.link = 0, .tier = 3, .time = {400}}, {.link = 1, .tier = 6, .time = {600}}}));
}

TEST(TransferSpentTest, AMessageWithoutBytesIsAllLatency) {
  TransferSet set(kCapacities, kTiers);

  set.Add(Make(1, {.start = 5, .latency = 30}, {{0, 10}}));

  const Spent spent = FinishesOf(set).at(1).spent;
  EXPECT_EQ(spent.latency, Duration{30});
  EXPECT_TRUE(spent.links.empty());
}

TEST(TransferSpentTest, WhatCrossesNoLinkRunsAtItsPace) {
  TransferSet set(kCapacities, kTiers);

  set.Add(Make(1, {.alone = 30}, {}));

  EXPECT_EQ(FinishesOf(set).at(1).spent.pace, Duration{30});
}

TEST(TransferSpentTest, SumsAreExactAndTheOrderOfArrivalCannotBeSeen) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    base::Random random(seed);
    const std::vector<std::uint64_t> capacities(8, 100'000'000'000);
    const std::vector<std::uint8_t> tiers = {1, 1, 2, 2, 3, 3, 4, 4};
    std::vector<Transfer> traffic;
    for (std::uint64_t id = 0; id < 60; ++id) {
      std::vector<LinkUse> uses;
      for (std::uint32_t link = 0; link < capacities.size(); ++link) {
        if (random.Below(4) == 0) uses.push_back({link, 1 + random.Below(100'000'000'000)});
      }
      traffic.push_back(Make(id,
                             {.start = static_cast<std::int64_t>(random.Below(1'000'000'000)),
                              .latency = static_cast<std::int64_t>(1 + random.Below(20'000'000)),
                              .alone = static_cast<std::int64_t>(random.Below(400'000'000))},
                             std::move(uses)));
    }
    TransferSet first(capacities, tiers);
    for (const Transfer& transfer : traffic) first.Add(transfer);
    TransferSet second(capacities, tiers);
    for (auto at = traffic.rbegin(); at != traffic.rend(); ++at) second.Add(*at);

    const auto expected = FinishesOf(first);
    const auto actual = FinishesOf(second);

    ASSERT_EQ(expected.size(), traffic.size());
    for (const auto& [id, finish] : expected) {
      EXPECT_EQ(SumOf(finish.spent), finish.finish - finish.start) << seed;
      EXPECT_EQ(finish.spent.latency, traffic[id].latency) << seed;
      EXPECT_GE(finish.spent.pace, Duration{}) << seed;
      EXPECT_EQ(finish.spent.links, actual.at(id).spent.links) << seed;
    }
  }
}

}  // namespace
}  // namespace eidolon::network::flow
