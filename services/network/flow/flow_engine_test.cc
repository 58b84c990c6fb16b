#include "services/network/flow/flow_engine.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "services/base/random.h"
#include "services/network/flow/fair_share.h"

namespace eidolon::network::flow {
namespace {

using base::SimTime;
using Slot = FlowEngine::Slot;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

std::vector<Hop> Hops(std::initializer_list<std::uint32_t> links) {
  std::vector<Hop> hops;
  for (std::uint32_t link : links) hops.push_back({.link = link});
  return hops;
}

double Gigabytes(std::uint64_t rate) {
  return static_cast<double>(rate) / static_cast<double>(1 << kRateBits) / 1e9;
}

TEST(FlowEngineTest, AFlowAloneTakesItsBytesOverTheCapacity) {
  FlowEngine engine(std::vector<std::uint64_t>{kGigabyte});
  const auto hops = Hops({0});
  engine.Start({.work = WorkOf(1'000'000), .hops = hops});

  ASSERT_EQ(engine.NextFinish(), SimTime{1'000'000'000});
  std::vector<Slot> finished;
  engine.AdvanceTo({1'000'000'000}, finished);

  EXPECT_EQ(finished.size(), 1u);
  EXPECT_EQ(engine.Active(), 0u);
  EXPECT_FALSE(engine.NextFinish().has_value());
}

TEST(FlowEngineTest, ALongFlowLeavesTheRestToShortOnes) {
  // The textbook line: one flow over two links, one on each, the second link twice as wide.
  FlowEngine engine(std::vector<std::uint64_t>{kGigabyte, 2 * kGigabyte});
  const auto both = Hops({0, 1});
  const auto first = Hops({0});
  const auto second = Hops({1});

  const Slot a = engine.Start({.work = WorkOf(1 << 30), .hops = both});
  const Slot b = engine.Start({.work = WorkOf(1 << 30), .hops = first});
  const Slot c = engine.Start({.work = WorkOf(1 << 30), .hops = second});

  EXPECT_NEAR(Gigabytes(engine.RateOf(a)), 0.5, 1e-9);
  EXPECT_NEAR(Gigabytes(engine.RateOf(b)), 0.5, 1e-9);
  EXPECT_NEAR(Gigabytes(engine.RateOf(c)), 1.5, 1e-9);
  EXPECT_TRUE(engine.Certified(1e-9));
}

TEST(FlowEngineTest, WeightsAndCapsAreKept) {
  FlowEngine engine(std::vector<std::uint64_t>{10 * kGigabyte});
  const auto hops = Hops({0});

  const Slot capped = engine.Start(
      {.work = WorkOf(1 << 30), .cap = kGigabyte << kRateBits, .weight = 4, .hops = hops});
  const Slot heavy = engine.Start({.work = WorkOf(1 << 30), .weight = 2, .hops = hops});
  const Slot light = engine.Start({.work = WorkOf(1 << 30), .hops = hops});

  EXPECT_NEAR(Gigabytes(engine.RateOf(capped)), 1, 1e-9);
  EXPECT_NEAR(Gigabytes(engine.RateOf(heavy)), 6, 1e-9);
  EXPECT_NEAR(Gigabytes(engine.RateOf(light)), 3, 1e-9);
}

TEST(FlowEngineTest, AShareOfAHopLoadsTheLinkByThatShare) {
  FlowEngine engine(std::vector<std::uint64_t>{4 * kGigabyte, kGigabyte});
  // Half of the flow's rate passes over link 1.
  const std::vector<Hop> hops = {{.link = 0}, {.link = 1, .share = Hop::kWhole / 2}};

  const Slot slot = engine.Start({.work = WorkOf(1 << 30), .hops = hops});

  EXPECT_NEAR(Gigabytes(engine.RateOf(slot)), 2, 1e-9);
  EXPECT_NEAR(Gigabytes(engine.LoadOf(1)), 1, 1e-9);
}

TEST(FlowEngineTest, ALinkThatFailsStopsItsFlowsUntilItReturns) {
  FlowEngine engine(std::vector<std::uint64_t>{kGigabyte, kGigabyte});
  const auto hops = Hops({0, 1});
  const Slot slot = engine.Start({.work = WorkOf(2'000'000), .hops = hops});
  std::vector<Slot> finished;
  engine.AdvanceTo({1'000'000'000}, finished);

  engine.SetCapacity(1, 0);
  EXPECT_EQ(engine.RateOf(slot), 0u);
  EXPECT_FALSE(engine.NextFinish().has_value());
  engine.AdvanceTo({5'000'000'000}, finished);
  engine.SetCapacity(1, kGigabyte / 2);

  ASSERT_EQ(engine.NextFinish(), SimTime{7'000'000'000});
}

TEST(FlowEngineTest, AStoppedFlowLeavesItsShareToTheOthers) {
  FlowEngine engine(std::vector<std::uint64_t>{kGigabyte});
  const auto hops = Hops({0});
  const Slot a = engine.Start({.work = WorkOf(1 << 20), .hops = hops});
  const Slot b = engine.Start({.work = WorkOf(1 << 20), .hops = hops});
  EXPECT_NEAR(Gigabytes(engine.RateOf(b)), 0.5, 1e-9);

  engine.Stop(a);

  EXPECT_NEAR(Gigabytes(engine.RateOf(b)), 1, 1e-9);
  EXPECT_EQ(engine.Active(), 1u);
}

// Random flows over random links, some weighted, capped or sharing a hop in part.
struct Traffic {
  struct Planned {
    std::int64_t start = 0;
    std::uint64_t bytes = 0;
    std::uint64_t cap = kRateMax;
    std::uint32_t weight = 1;
    std::vector<Hop> hops;
  };
  std::vector<std::uint64_t> capacities;
  std::vector<Planned> flows;
};

Traffic MakeTraffic(std::uint64_t seed) {
  base::Random random(seed);
  Traffic traffic;
  const std::size_t links = 2 + random.Below(30);
  for (std::size_t at = 0; at < links; ++at) {
    // Equal capacities now and then: ties are the hard case.
    traffic.capacities.push_back(random.Below(2) == 0 ? 10 * kGigabyte
                                                      : kGigabyte + random.Below(50 * kGigabyte));
  }
  const bool plain = random.Below(2) == 0;
  const std::size_t flows = 1 + random.Below(150);
  for (std::size_t at = 0; at < flows; ++at) {
    Traffic::Planned flow{.start = static_cast<std::int64_t>(random.Below(3'000'000'000)),
                          .bytes = 1 + random.Below(10'000'000)};
    if (random.Below(5) == 0) flow.start = 0;
    std::set<std::uint32_t> used;
    const std::size_t hops = 1 + random.Below(std::min<std::size_t>(6, links));
    while (used.size() < hops) used.insert(static_cast<std::uint32_t>(random.Below(links)));
    for (std::uint32_t link : used) {
      const bool whole = plain || random.Below(3) > 0;
      flow.hops.push_back(
          {.link = link,
           .share =
               whole ? Hop::kWhole : 1 + static_cast<std::uint32_t>(random.Below(Hop::kWhole))});
    }
    if (!plain) {
      flow.weight = 1 + static_cast<std::uint32_t>(random.Below(16));
      if (random.Below(3) == 0) flow.cap = (kGigabyte + random.Below(9 * kGigabyte)) << kRateBits;
    }
    traffic.flows.push_back(flow);
  }
  return traffic;
}

// Plays the traffic; calls `check` after every instant.
template <typename Check>
std::vector<SimTime> Play(const Traffic& traffic, const Check& check) {
  FlowEngine engine(traffic.capacities);
  std::vector<SimTime> ends(traffic.flows.size(), SimTime::Max());
  std::vector<std::size_t> order(traffic.flows.size());
  for (std::size_t at = 0; at < order.size(); ++at) order[at] = at;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return traffic.flows[a].start < traffic.flows[b].start;
  });
  std::map<Slot, std::size_t> running;
  std::size_t next = 0;
  for (;;) {
    const auto finish = engine.NextFinish();
    if (!finish && next == order.size()) return ends;
    SimTime time = finish.value_or(SimTime::Max());
    if (next < order.size()) time = std::min(time, SimTime{traffic.flows[order[next]].start});
    std::vector<Slot> finished;
    engine.AdvanceTo(time, finished);
    for (Slot slot : finished) {
      ends[running.at(slot)] = time;
      running.erase(slot);
    }
    for (; next < order.size() && traffic.flows[order[next]].start == time.ps; ++next) {
      const Traffic::Planned& flow = traffic.flows[order[next]];
      const Slot slot = engine.Start(
          {.work = WorkOf(flow.bytes), .cap = flow.cap, .weight = flow.weight, .hops = flow.hops});
      running[slot] = order[next];
    }
    check(engine, running);
  }
}

TEST(FlowEngineTest, EveryRateIsCertifiedAfterEveryEvent) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Traffic traffic = MakeTraffic(seed);
    Play(traffic, [&](FlowEngine& engine, const auto&) {
      ASSERT_TRUE(engine.Certified(1e-9)) << "seed " << seed << " at " << engine.now().ps;
    });
  }
}

TEST(FlowEngineTest, RatesEqualAFullSolutionAfterEveryEvent) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Traffic traffic = MakeTraffic(seed);
    Play(traffic, [&](FlowEngine& engine, const auto& running) {
      std::map<Slot, std::uint64_t> rates;
      for (const auto& [slot, flow] : running) rates[slot] = engine.RateOf(slot);
      FlowEngine copy = engine;
      copy.SolveAnew();
      for (const auto& [slot, rate] : rates) {
        ASSERT_NEAR(static_cast<double>(rate), static_cast<double>(copy.RateOf(slot)),
                    1e-9 * static_cast<double>(rate) + 64)
            << "seed " << seed << " flow " << running.at(slot) << " at " << engine.now().ps;
      }
    });
  }
}

// The same against another program: the water-filling of FairShare, to its coarser rounding.
TEST(FlowEngineTest, RatesEqualThoseOfTheReferenceSolver) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Traffic traffic = MakeTraffic(seed);
    FairShare reference(traffic.capacities);
    Play(traffic, [&](FlowEngine& engine, const auto& running) {
      std::vector<std::vector<LinkUse>> uses;
      std::vector<Competitor> competitors;
      for (const auto& [slot, flow] : running) {
        const Traffic::Planned& planned = traffic.flows[flow];
        const double full =
            planned.cap < kRateMax ? static_cast<double>(planned.cap >> kRateBits) : 60e9;
        uses.emplace_back();
        std::uint64_t busiest = 0;
        for (const Hop& hop : planned.hops) {
          const double use = full * hop.share / Hop::kWhole;
          uses.back().push_back({hop.link, static_cast<std::uint64_t>(use) + 1});
          busiest = std::max(busiest, uses.back().back().bytes_per_second);
        }
        // The reference compares bandwidths on the busiest link, the engine whole rates: only flows
        // with a whole hop mean the same to both.
        if (static_cast<double>(busiest) < full) return;
      }
      std::size_t at = 0;
      for (const auto& [slot, flow] : running) {
        competitors.push_back({traffic.flows[flow].weight, uses[at++]});
      }
      if (competitors.empty()) return;
      const auto speeds = reference.Solve(competitors);
      at = 0;
      for (const auto& [slot, flow] : running) {
        const Traffic::Planned& planned = traffic.flows[flow];
        const double full =
            planned.cap < kRateMax ? static_cast<double>(planned.cap >> kRateBits) : 60e9;
        const double expected =
            full * static_cast<double>(speeds[at++]) / static_cast<double>(kFullSpeed);
        ASSERT_NEAR(Gigabytes(engine.RateOf(slot)), expected * 1e-9, 1e-5)
            << "seed " << seed << " flow " << flow;
      }
    });
  }
}

TEST(FlowEngineTest, FlowsThatStartTogetherMayStartInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Traffic traffic = MakeTraffic(seed);
    Traffic shuffled = traffic;
    std::vector<std::size_t> place(traffic.flows.size());
    for (std::size_t at = 0; at < place.size(); ++at) place[at] = at;
    base::Random random(seed + 10'000);
    for (std::size_t at = place.size(); at > 1; --at) {
      std::swap(place[at - 1], place[random.Below(at)]);
    }
    for (std::size_t at = 0; at < place.size(); ++at) shuffled.flows[place[at]] = traffic.flows[at];
    const auto nothing = [](FlowEngine&, const auto&) {};

    const auto first = Play(traffic, nothing);
    const auto second = Play(shuffled, nothing);

    for (std::size_t at = 0; at < place.size(); ++at) {
      // Ties may bind a flow to one link or another: a rounding of 2^-14 bytes a second.
      ASSERT_NEAR(static_cast<double>(first[at].ps), static_cast<double>(second[place[at]].ps), 1)
          << "seed " << seed;
    }
  }
}

TEST(FlowEngineTest, MemoryStaysFlatOverManyFlows) {
  FlowEngine engine(std::vector<std::uint64_t>(64, 10 * kGigabyte));
  base::Random random(5);
  std::vector<Slot> finished;
  std::size_t early = 0;
  for (int round = 0; round < 200'000; ++round) {
    while (engine.Active() < 100) {
      const auto a = static_cast<std::uint32_t>(random.Below(64));
      const std::vector<Hop> hops = {{.link = a}, {.link = (a + 1) % 64}};
      engine.Start({.work = WorkOf(1000 + random.Below(1'000'000)), .hops = hops});
    }
    engine.AdvanceTo(*engine.NextFinish(), finished);
    finished.clear();
    if (round == 50'000) early = engine.BytesUsed();
  }

  // Only the lists of links whose crowds set a record have grown.
  EXPECT_LE(engine.BytesUsed(), early + early / 4);
  EXPECT_LT(engine.BytesUsed(), 64u << 10);
}

TEST(FlowEngineTest, ALiveFlowOverTwoLinksTakesAtMost128Bytes) {
  FlowEngine engine(std::vector<std::uint64_t>(1024, 10 * kGigabyte));
  const std::size_t empty = engine.BytesUsed();
  constexpr std::uint32_t kFlows = 1 << 16;
  for (std::uint32_t at = 0; at < kFlows; ++at) {
    const std::vector<Hop> hops = {{.link = at % 1024}, {.link = (at + 1) % 1024}};
    engine.Start({.work = WorkOf(1'000'000 + at), .hops = hops});
  }
  engine.NextFinish();

  EXPECT_LE((engine.BytesUsed() - empty) / kFlows, 128u);
}

}  // namespace
}  // namespace eidolon::network::flow
