// Links that the flow engine leaves out because they cannot bind.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "services/base/random.h"
#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {
namespace {

using base::SimTime;
using Slot = FlowEngine::Slot;

constexpr std::uint64_t kPrunedGigabyte = 1'000'000'000;

// NICs under leaves: links are each NIC's out and in, then each leaf's up and down.
struct Tree {
  std::uint32_t leaves = 2;
  std::uint32_t nics = 4;  // Of a leaf.
  std::uint64_t leaf_rate = 4 * kPrunedGigabyte;

  std::uint32_t Up(std::uint32_t leaf) const { return 2 * (leaves * nics + leaf); }
  std::vector<std::uint64_t> Capacities() const {
    std::vector<std::uint64_t> capacities(std::size_t{2} * leaves * nics, kPrunedGigabyte);
    capacities.insert(capacities.end(), std::size_t{2} * leaves, leaf_rate);
    return capacities;
  }
  std::vector<Hop> Route(std::uint32_t from, std::uint32_t to) const {
    std::vector<Hop> route = {{.link = 2 * from}};
    if (from / nics != to / nics) {
      route.push_back({.link = Up(from / nics)});
      route.push_back({.link = Up(to / nics) + 1});
    }
    route.push_back({.link = 2 * to + 1});
    return route;
  }
};

double PrunedGigabytes(std::uint64_t rate) {
  return static_cast<double>(rate) / static_cast<double>(1 << kRateBits) / 1e9;
}

Slot Start(FlowEngine& engine, const std::vector<Hop>& route) {
  return engine.Start({.work = WorkOf(1 << 30), .hops = route});
}

TEST(PruningTest, ALinkThatItsNicsCannotFillSleeps) {
  const Tree tree;
  FlowEngine engine(tree.Capacities());

  for (std::uint32_t from = 0; from < 4; ++from) {
    for (std::uint32_t to = 4; to < 8; ++to) Start(engine, tree.Route(from, to));
  }

  EXPECT_TRUE(engine.Certified(1e-9));
  EXPECT_TRUE(engine.Asleep(tree.Up(0)));
  EXPECT_TRUE(engine.Asleep(tree.Up(1) + 1));
  EXPECT_FALSE(engine.Asleep(0));
}

TEST(PruningTest, ALinkWakesWhenOneMoreNicCouldFillIt) {
  const Tree tree{.leaf_rate = 2 * kPrunedGigabyte};
  FlowEngine engine(tree.Capacities());
  const Slot first = Start(engine, tree.Route(0, 4));
  Start(engine, tree.Route(1, 5));
  EXPECT_NEAR(PrunedGigabytes(engine.RateOf(first)), 1, 1e-9);
  EXPECT_TRUE(engine.Asleep(tree.Up(0)));

  Start(engine, tree.Route(2, 6));
  const Slot last = Start(engine, tree.Route(3, 7));

  EXPECT_FALSE(engine.Asleep(tree.Up(0)));
  EXPECT_NEAR(PrunedGigabytes(engine.RateOf(first)), 0.5, 1e-9);
  EXPECT_NEAR(PrunedGigabytes(engine.RateOf(last)), 0.5, 1e-9);
  EXPECT_TRUE(engine.Certified(1e-9));
}

TEST(PruningTest, ALinkWakesWhenItShrinksOrItsNicsGrow) {
  for (const bool shrinks : {true, false}) {
    const Tree tree;
    FlowEngine engine(tree.Capacities());
    std::vector<Slot> slots;
    for (std::uint32_t from = 0; from < 4; ++from) {
      slots.push_back(Start(engine, tree.Route(from, 4 + from)));
    }
    EXPECT_NEAR(PrunedGigabytes(engine.RateOf(slots[0])), 1, 1e-9);

    if (shrinks) {
      engine.SetCapacity(tree.Up(0), kPrunedGigabyte);
    } else {
      for (std::uint32_t link = 0; link < 16; ++link) engine.SetCapacity(link, 2 * kPrunedGigabyte);
    }

    EXPECT_FALSE(engine.Asleep(tree.Up(0)));
    EXPECT_NEAR(PrunedGigabytes(engine.RateOf(slots[0])), shrinks ? 0.25 : 1, 1e-9);
    EXPECT_TRUE(engine.Certified(1e-9));
  }
}

TEST(PruningTest, ALinkThatNobodyUsesSleepsAgain) {
  const Tree tree{.leaf_rate = 3 * kPrunedGigabyte / 2};
  FlowEngine engine(tree.Capacities());
  const Slot a = Start(engine, tree.Route(0, 4));
  const Slot b = Start(engine, tree.Route(1, 5));
  EXPECT_NEAR(PrunedGigabytes(engine.RateOf(a)), 0.75, 1e-9);

  engine.Stop(a);
  EXPECT_NEAR(PrunedGigabytes(engine.RateOf(b)), 1, 1e-9);
  engine.Stop(b);

  EXPECT_TRUE(engine.Asleep(tree.Up(0)));
  EXPECT_NEAR(PrunedGigabytes(engine.RateOf(Start(engine, tree.Route(2, 6)))), 1, 1e-9);
}

// Another engine has a wide link between any two of a route, so that no link has a narrower
// neighbour that vouches for it.
std::vector<Hop> Padded(const std::vector<Hop>& route, std::uint32_t first_pad) {
  std::vector<Hop> padded;
  for (std::size_t at = 0; at < route.size(); ++at) {
    if (at > 0) padded.push_back({.link = first_pad + static_cast<std::uint32_t>(at)});
    padded.push_back(route[at]);
  }
  return padded;
}

TEST(PruningTest, SharesAreThoseOfAnEngineThatLooksAtAllLinks) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    base::Random random(seed);
    const Tree tree{.leaves = 2 + static_cast<std::uint32_t>(random.Below(4)),
                    .nics = 2 + static_cast<std::uint32_t>(random.Below(6)),
                    .leaf_rate = kPrunedGigabyte * (1 + random.Below(8))};
    std::vector<std::uint64_t> capacities = tree.Capacities();
    FlowEngine engine(capacities);
    const auto pads = static_cast<std::uint32_t>(capacities.size());
    capacities.insert(capacities.end(), 5, std::uint64_t{1} << 47);
    FlowEngine all(capacities);
    std::vector<std::pair<Slot, Slot>> live;
    const std::uint32_t nics = tree.leaves * tree.nics;
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t what = random.Below(10);
      if (what < 6 || live.empty()) {
        const auto from = static_cast<std::uint32_t>(random.Below(nics));
        const std::uint32_t to = (from + 1 + static_cast<std::uint32_t>(random.Below(nics - 1)));
        const auto route = tree.Route(from, to % nics);
        const std::uint32_t weight = random.Below(3) == 0 ? 3 : 1;
        const auto add = [&](FlowEngine& to_engine, const std::vector<Hop>& hops) {
          return to_engine.Start({.work = WorkOf(1 << 30), .weight = weight, .hops = hops});
        };
        live.emplace_back(add(engine, route), add(all, Padded(route, pads)));
      } else if (what < 9) {
        const std::size_t at = random.Below(live.size());
        engine.Stop(live[at].first);
        all.Stop(live[at].second);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        const auto link = static_cast<std::uint32_t>(random.Below(pads));
        const std::uint64_t capacity = random.Below(3) * kPrunedGigabyte + kPrunedGigabyte / 2;
        engine.SetCapacity(link, capacity);
        all.SetCapacity(link, capacity);
      }
      ASSERT_TRUE(engine.Certified(1e-9)) << "seed " << seed << " step " << step;
      for (const auto& [slot, other] : live) {
        const auto expected = static_cast<double>(all.RateOf(other));
        ASSERT_NEAR(static_cast<double>(engine.RateOf(slot)), expected, 1e-9 * expected + 64)
            << "seed " << seed << " step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace eidolon::network::flow
