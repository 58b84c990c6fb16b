#include "services/network/flow/hold_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/base/random.h"
#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {
namespace {

using base::Duration;
using base::SimTime;

constexpr std::uint64_t kMegabyte = 1'000'000;

std::vector<LinkTime> HeldOf(const HoldTable& table, HoldTable::Slot slot) {
  std::vector<LinkTime> times;
  table.AddTo(slot, &times);
  return times;
}

TEST(HoldTableTest, CountsTheTimeOnEachLink) {
  HoldTable table(std::vector<std::uint8_t>{3, 4, 3});
  table.Begin(7);

  table.Enter(7, SimTime{10});
  table.Leave(7, 0, SimTime{15});
  table.Leave(7, 1, SimTime{22});
  table.Leave(7, 2, SimTime{30});

  EXPECT_EQ(HeldOf(table, 7), (std::vector<LinkTime>{{.link = 2, .tier = 3, .time = {8}},
                                                     {.link = 1, .tier = 4, .time = {7}},
                                                     {.link = 0, .tier = 3, .time = {5}}}));
}

TEST(HoldTableTest, WhatManyLinksHoldIsCountedByTheirTiers) {
  constexpr std::uint32_t kLinks = 3 * HoldTable::kLinksMax;
  std::vector<std::uint8_t> tiers(kLinks, 5);
  tiers.back() = 6;
  HoldTable table(tiers);
  table.Begin(0);
  table.Enter(0, SimTime{0});

  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t link = 0; link < kLinks; ++link) {
      table.Leave(0, link, SimTime{round * kLinks + link + 1});
    }
  }

  std::vector<LinkTime> held = HeldOf(table, 0);
  ASSERT_EQ(held.size(), HoldTable::kLinksMax + 2);
  EXPECT_EQ(held[0], (LinkTime{.link = kNoSingleLink, .tier = 6, .time = {2}}));
  EXPECT_EQ(held[1], (LinkTime{.link = kNoSingleLink,
                               .tier = 5,
                               .time = {2 * (kLinks - HoldTable::kLinksMax - 1)}}));
  EXPECT_EQ(held[2], (LinkTime{.link = HoldTable::kLinksMax - 1, .tier = 5, .time = {2}}));
}

TEST(HoldTableTest, ANetworkWithoutTiersKeepsNoBook) {
  HoldTable table({});
  table.Begin(3);
  table.Enter(3, SimTime{10});
  table.Leave(3, 0, SimTime{15});

  EXPECT_TRUE(HeldOf(table, 3).empty());
  EXPECT_EQ(table.BytesUsed(), 0u);
}

TEST(HoldTableTest, ChangesOfOneInstantLeaveNothing) {
  HoldTable table(std::vector<std::uint8_t>{1});
  table.Begin(0);

  table.Enter(0, SimTime{10});
  table.Leave(0, 5, SimTime{10});

  EXPECT_TRUE(HeldOf(table, 0).empty());
}

TEST(HoldTableTest, ANewFlowForgetsWhatTheSlotsLastOneLeft) {
  HoldTable table(std::vector<std::uint8_t>{1});
  table.Begin(0);
  table.Enter(0, SimTime{0});
  table.Leave(0, 0, SimTime{9});
  const std::size_t bytes = table.BytesUsed();

  for (int round = 0; round < 100; ++round) {
    table.Begin(0);
    EXPECT_TRUE(HeldOf(table, 0).empty());
    table.Enter(0, SimTime{0});
    table.Leave(0, 0, SimTime{9});
  }

  EXPECT_EQ(table.BytesUsed(), bytes);
}

// Two solvers decide what binds a flow. Whatever they do, a flow that has no cap is held all its
// time, since something has to end its rise.
TEST(HoldTableTest, AFlowWithoutACapIsHeldFromStartToEnd) {
  base::Random random(7);
  constexpr std::uint32_t kLinks = 24;
  std::vector<std::uint64_t> capacities;
  std::vector<std::uint8_t> tiers;
  for (std::uint32_t link = 0; link < kLinks; ++link) {
    capacities.push_back((1 + random.Below(20)) * kMegabyte);
    tiers.push_back(static_cast<std::uint8_t>(link % 5));
  }
  FlowEngine engine(capacities, tiers);
  std::vector<SimTime> started;
  std::vector<FlowEngine::Slot> ended;
  std::size_t checked = 0;
  for (int round = 0; round < 600; ++round) {
    const std::size_t arrivals = round % 100 == 0 ? 120 : random.Below(4);
    for (std::size_t at = 0; at < arrivals; ++at) {
      const auto first = static_cast<std::uint32_t>(random.Below(kLinks));
      const std::vector<Hop> hops = {{.link = first}, {.link = (first + 5) % kLinks}};
      const auto slot = engine.Start({.work = WorkOf(1 + random.Below(kMegabyte)), .hops = hops});
      if (slot >= started.size()) started.resize(slot + 1);
      started[slot] = engine.now();
    }
    const auto next = engine.NextFinish();
    if (!next) continue;
    ended.clear();
    engine.AdvanceTo(*next, ended);
    for (const FlowEngine::Slot slot : ended) {
      std::vector<LinkTime> times;
      engine.AddHeld(slot, &times);
      Duration held;
      for (const LinkTime& time : times) held += time.time;
      EXPECT_EQ(held, *next - started[slot]);
      ++checked;
    }
  }
  EXPECT_GT(checked, 300u);
}

}  // namespace
}  // namespace eidolon::network::flow
