#include "services/network/flow/hold_book.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/base/random.h"
#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {
namespace {

using base::Duration;
using base::SimTime;

constexpr std::uint64_t kMegabyte = 1'000'000;

std::vector<LinkTime> HeldOf(const HoldBook& book, HoldBook::Slot slot) {
  std::vector<LinkTime> times;
  book.AddTo(slot, &times);
  return times;
}

TEST(HoldBookTest, CountsTheTimeOnEachLink) {
  HoldBook book(std::vector<std::uint8_t>{3, 4, 3});
  book.Begin(7);

  book.Enter(7, SimTime{10});
  book.Leave(7, 0, SimTime{15});
  book.Leave(7, 1, SimTime{22});
  book.Leave(7, 2, SimTime{30});

  EXPECT_EQ(HeldOf(book, 7), (std::vector<LinkTime>{{.link = 2, .tier = 3, .time = {8}},
                                                    {.link = 1, .tier = 4, .time = {7}},
                                                    {.link = 0, .tier = 3, .time = {5}}}));
}

TEST(HoldBookTest, WhatManyLinksHoldIsCountedByTheirTiers) {
  constexpr std::uint32_t kLinks = 3 * HoldBook::kLinksMax;
  std::vector<std::uint8_t> tiers(kLinks, 5);
  tiers.back() = 6;
  HoldBook book(tiers);
  book.Begin(0);
  book.Enter(0, SimTime{0});

  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t link = 0; link < kLinks; ++link) {
      book.Leave(0, link, SimTime{round * kLinks + link + 1});
    }
  }

  std::vector<LinkTime> held = HeldOf(book, 0);
  ASSERT_EQ(held.size(), HoldBook::kLinksMax + 2);
  EXPECT_EQ(held[0], (LinkTime{.link = kNoSingleLink, .tier = 6, .time = {2}}));
  EXPECT_EQ(held[1], (LinkTime{.link = kNoSingleLink,
                               .tier = 5,
                               .time = {2 * (kLinks - HoldBook::kLinksMax - 1)}}));
  EXPECT_EQ(held[2], (LinkTime{.link = HoldBook::kLinksMax - 1, .tier = 5, .time = {2}}));
}

TEST(HoldBookTest, ANetworkWithoutTiersKeepsNoBook) {
  HoldBook book({});
  book.Begin(3);
  book.Enter(3, SimTime{10});
  book.Leave(3, 0, SimTime{15});

  EXPECT_TRUE(HeldOf(book, 3).empty());
  EXPECT_EQ(book.BytesUsed(), 0u);
}

TEST(HoldBookTest, ChangesOfOneInstantLeaveNothing) {
  HoldBook book(std::vector<std::uint8_t>{1});
  book.Begin(0);

  book.Enter(0, SimTime{10});
  book.Leave(0, 5, SimTime{10});

  EXPECT_TRUE(HeldOf(book, 0).empty());
}

TEST(HoldBookTest, ANewFlowForgetsWhatTheSlotsLastOneLeft) {
  HoldBook book(std::vector<std::uint8_t>{1});
  book.Begin(0);
  book.Enter(0, SimTime{0});
  book.Leave(0, 0, SimTime{9});
  const std::size_t bytes = book.BytesUsed();

  for (int round = 0; round < 100; ++round) {
    book.Begin(0);
    EXPECT_TRUE(HeldOf(book, 0).empty());
    book.Enter(0, SimTime{0});
    book.Leave(0, 0, SimTime{9});
  }

  EXPECT_EQ(book.BytesUsed(), bytes);
}

// Two solvers decide what binds a flow. Whatever they do, a flow that has no cap is held all its
// time, since something has to end its rise.
TEST(HoldBookTest, AFlowWithoutACapIsHeldFromStartToEnd) {
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
