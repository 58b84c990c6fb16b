#include "services/network/flow/fair_share.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "services/base/random.h"

namespace eidolon::network::flow {
namespace {

double Share(std::uint64_t speed) {
  return static_cast<double>(speed) / static_cast<double>(kFullSpeed);
}

TEST(FairShareTest, SplitsALinkEvenlyBetweenTwoFlows) {
  FairShare solver(std::vector<std::uint64_t>{1000});
  const std::vector<LinkUse> use = {{0, 1000}};

  const auto speeds = solver.Solve(std::vector<Competitor>{{1, use}, {1, use}});

  EXPECT_EQ(speeds, (std::vector<std::uint64_t>{kFullSpeed / 2, kFullSpeed / 2}));
}

TEST(FairShareTest, GivesWhatACappedFlowLeavesToTheOther) {
  FairShare solver(std::vector<std::uint64_t>{1000});
  const std::vector<LinkUse> small = {{0, 100}};
  const std::vector<LinkUse> large = {{0, 1000}};

  const auto speeds = solver.Solve(std::vector<Competitor>{{1, small}, {1, large}});

  EXPECT_EQ(speeds[0], kFullSpeed);
  EXPECT_NEAR(Share(speeds[1]), 0.9, 1e-6);
}

TEST(FairShareTest, SharesByWeight) {
  FairShare solver(std::vector<std::uint64_t>{900'000});
  const std::vector<LinkUse> use = {{0, 900'000}};

  const auto speeds = solver.Solve(std::vector<Competitor>{{2, use}, {1, use}});

  EXPECT_NEAR(Share(speeds[0]), 2.0 / 3, 1e-4);
  EXPECT_NEAR(Share(speeds[1]), 1.0 / 3, 1e-4);
}

TEST(FairShareTest, LetsAFlowPastABottleneckTakeTheRest) {
  // The textbook line: one long flow over two links, one short flow on each, one link wider.
  FairShare solver(std::vector<std::uint64_t>{1'000'000, 2'000'000});
  const std::vector<LinkUse> both = {{0, 1'000'000}, {1, 1'000'000}};
  const std::vector<LinkUse> first = {{0, 1'000'000}};
  const std::vector<LinkUse> second = {{1, 2'000'000}};

  const auto speeds = solver.Solve(std::vector<Competitor>{{1, both}, {1, first}, {1, second}});

  EXPECT_NEAR(Share(speeds[0]), 0.5, 1e-4);
  EXPECT_NEAR(Share(speeds[1]), 0.5, 1e-4);
  EXPECT_NEAR(Share(speeds[2]), 0.75, 1e-4);
}

struct Random {
  std::vector<std::uint64_t> capacities;
  std::vector<std::vector<LinkUse>> uses;
  std::vector<std::uint32_t> weights;
};

Random MakeRandom(std::uint64_t seed) {
  base::Random random(seed);
  Random made;
  const std::size_t links = 2 + random.Below(12);
  for (std::size_t i = 0; i < links; ++i) {
    made.capacities.push_back(1'000'000'000 + random.Below(400'000'000'000));
  }
  const std::size_t flows = 1 + random.Below(30);
  for (std::size_t f = 0; f < flows; ++f) {
    std::vector<LinkUse> uses;
    for (std::uint32_t link = 0; link < links; ++link) {
      if (random.Below(3) == 0) uses.push_back({link, 1 + random.Below(made.capacities[link])});
    }
    if (uses.empty()) uses.push_back({0, made.capacities[0]});
    made.uses.push_back(uses);
    made.weights.push_back(1 + static_cast<std::uint32_t>(random.Below(32)));
  }
  return made;
}

std::vector<Competitor> CompetitorsOf(const Random& random) {
  std::vector<Competitor> competitors;
  for (std::size_t f = 0; f < random.uses.size(); ++f) {
    competitors.push_back({random.weights[f], random.uses[f]});
  }
  return competitors;
}

// The certificate of max-min: every flow is at full speed or has a full link on which no other flow
// has more bandwidth per weight.
TEST(FairShareTest, MeetsTheMaxMinCertificateOnRandomTraffic) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Random random = MakeRandom(seed);
    FairShare solver(random.capacities);
    const auto speeds = solver.Solve(CompetitorsOf(random));

    std::vector<double> load(random.capacities.size(), 0);
    std::vector<double> level(random.uses.size(), 0);
    for (std::size_t f = 0; f < random.uses.size(); ++f) {
      double busiest = 0;
      for (const LinkUse& use : random.uses[f]) {
        const auto bytes = static_cast<double>(use.bytes_per_second);
        load[use.link] += bytes * Share(speeds[f]);
        busiest = std::max(busiest, bytes);
      }
      level[f] = busiest * Share(speeds[f]) / random.weights[f];
    }
    for (std::size_t link = 0; link < load.size(); ++link) {
      ASSERT_LE(load[link], static_cast<double>(random.capacities[link]) * (1 + 1e-6)) << seed;
    }
    for (std::size_t f = 0; f < random.uses.size(); ++f) {
      if (speeds[f] == kFullSpeed) continue;
      bool certified = false;
      for (const LinkUse& use : random.uses[f]) {
        const auto capacity = static_cast<double>(random.capacities[use.link]);
        bool highest = load[use.link] >= capacity * (1 - 1e-4);
        for (std::size_t g = 0; highest && g < random.uses.size(); ++g) {
          for (const LinkUse& other : random.uses[g]) {
            if (other.link == use.link && level[g] > level[f] * (1 + 1e-4)) highest = false;
          }
        }
        certified = certified || highest;
      }
      ASSERT_TRUE(certified) << "seed " << seed << " flow " << f;
    }
  }
}

TEST(FairShareTest, DoesNotDependOnTheOrderOfFlows) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Random random = MakeRandom(seed);
    FairShare solver(random.capacities);
    std::vector<Competitor> competitors = CompetitorsOf(random);
    auto forward = solver.Solve(competitors);
    std::reverse(competitors.begin(), competitors.end());

    auto backward = solver.Solve(competitors);

    std::reverse(backward.begin(), backward.end());
    ASSERT_EQ(forward, backward) << "seed " << seed;
  }
}

}  // namespace
}  // namespace eidolon::network::flow
