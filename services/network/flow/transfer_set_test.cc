#include "services/network/flow/transfer_set.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "services/base/random.h"

namespace eidolon::network::flow {
namespace {

using base::Duration;
using base::SimTime;

Transfer Make(std::uint64_t id, std::int64_t start, std::int64_t latency, std::int64_t alone,
              std::vector<LinkUse> uses) {
  return {.key = {.sequence = id},
          .start = {start},
          .latency = {latency},
          .alone = {alone},
          .weight = 1,
          .uses = ShareUses(std::move(uses))};
}

std::vector<std::pair<std::uint64_t, std::int64_t>> RunAll(TransferSet& set) {
  std::vector<Finish> finished;
  while (set.NextTime()) set.Advance(finished);
  std::vector<std::pair<std::uint64_t, std::int64_t>> result;
  for (const Finish& finish : finished) result.emplace_back(finish.key.sequence, finish.finish.ps);
  return result;
}

using Results = std::vector<std::pair<std::uint64_t, std::int64_t>>;

TEST(TransferSetTest, AnIsolatedTransferTakesExactlyItsOwnTime) {
  TransferSet set(std::vector<std::uint64_t>{1000});

  set.Add(Make(1, 7, 100, 12345, {{0, 1000}}));

  EXPECT_EQ(RunAll(set), (Results{{1, 7 + 100 + 12345}}));
  EXPECT_EQ(set.Active(), 0u);
}

TEST(TransferSetTest, TransfersThatFitTogetherDoNotSlowEachOther) {
  TransferSet set(std::vector<std::uint64_t>{1000});

  set.Add(Make(1, 0, 0, 5000, {{0, 400}}));
  set.Add(Make(2, 100, 0, 5000, {{0, 600}}));

  EXPECT_EQ(RunAll(set), (Results{{1, 5000}, {2, 5100}}));
}

TEST(TransferSetTest, ALinkThatGetsSlowerDelaysWhatIsLeft) {
  TransferSet set(std::vector<std::uint64_t>{1000});
  set.Add(Make(1, 0, 100, 1000, {{0, 1000}}));
  set.AdvanceTo({50});
  std::vector<Finish> finished;
  set.Advance(finished);  // The end of the latency.
  set.AdvanceTo({600});

  set.SetCapacity(0, 250);

  EXPECT_EQ(RunAll(set), (Results{{1, 600 + 4 * 500}}));
}

TEST(TransferSetTest, AStoppedLinkHoldsItsTransfersUntilItRecovers) {
  TransferSet set(std::vector<std::uint64_t>{1000});
  set.Add(Make(1, 0, 0, 1000, {{0, 1000}}));
  std::vector<Finish> finished;
  set.Advance(finished);
  set.AdvanceTo({400});
  set.SetCapacity(0, 0);
  EXPECT_FALSE(set.NextTime().has_value());

  set.AdvanceTo({5000});
  set.SetCapacity(0, 1000);

  EXPECT_EQ(RunAll(set), (Results{{1, 5600}}));
}

TEST(TransferSetTest, AReroutedTransferGoesOnWithWhatIsLeft) {
  TransferSet set(std::vector<std::uint64_t>{1000, 500, 1000});
  set.Add(Make(1, 0, 0, 1000, {{0, 1000}}));
  set.Add(Make(2, 0, 900, 1000, {{0, 1000}}));  // Still in its latency.
  std::vector<Finish> finished;
  set.Advance(finished);
  set.AdvanceTo({400});

  set.Reroute([](const Transfer& transfer) {
    return ShareUses({{transfer.key.sequence == 1 ? 1u : 2u, 1000}});
  });

  EXPECT_EQ(RunAll(set), (Results{{1, 400 + 2 * 600}, {2, 1900}}));
}

TEST(TransferSetTest, BackgroundTrafficSharesLinksAndNeverEnds) {
  TransferSet set(std::vector<std::uint64_t>{1000, 1000});
  const LinkUse first[] = {{0, 1000}};
  const LinkUse second[] = {{1, 1000}};
  const std::size_t number = set.AddBackground(first, 3);
  EXPECT_FALSE(set.NextTime().has_value());
  EXPECT_EQ(set.Active(), 0u);

  set.Add(Make(1, 0, 0, 1000, {{0, 1000}}));
  std::vector<Finish> finished;
  set.Advance(finished);
  set.AdvanceTo({2000});  // A quarter of the link each picosecond: half is done.
  set.RerouteBackground(number, second);

  EXPECT_EQ(RunAll(set), (Results{{1, 2500}}));
}

TEST(TransferSetTest, TwoTransfersShareALinkAndTheLaterSpeedsUpAgain) {
  TransferSet set(std::vector<std::uint64_t>{1000});

  set.Add(Make(1, 0, 0, 1000, {{0, 1000}}));
  set.Add(Make(2, 0, 0, 2000, {{0, 1000}}));

  EXPECT_EQ(RunAll(set), (Results{{1, 2000}, {2, 3000}}));
}

TEST(TransferSetTest, LatencyOccupiesNoLink) {
  TransferSet set(std::vector<std::uint64_t>{1000});

  set.Add(Make(1, 0, 1000, 1000, {{0, 1000}}));
  set.Add(Make(2, 0, 0, 1000, {{0, 1000}}));

  EXPECT_EQ(RunAll(set), (Results{{2, 1000}, {1, 2000}}));
}

TEST(TransferSetTest, TransfersWithoutLinksOrBytesEnd) {
  TransferSet set(std::vector<std::uint64_t>{1000});

  set.Add(Make(1, 5, 10, 0, {{0, 1}}));
  set.Add(Make(2, 5, 10, 20, {}));

  EXPECT_EQ(RunAll(set), (Results{{1, 15}, {2, 35}}));
}

TEST(TransferSetTest, EventsOfOneInstantEndInKeyOrder) {
  TransferSet set(std::vector<std::uint64_t>{1000});

  for (std::uint64_t id : {9, 3, 5}) set.Add(Make(id, 0, 0, 100, {{0, 10}}));

  EXPECT_EQ(RunAll(set), (Results{{3, 100}, {5, 100}, {9, 100}}));
}

std::vector<Transfer> RandomTraffic(std::uint64_t seed, std::size_t links) {
  base::Random random(seed);
  std::vector<Transfer> transfers;
  for (std::uint64_t id = 0; id < 60; ++id) {
    std::vector<LinkUse> uses;
    for (std::uint32_t link = 0; link < links; ++link) {
      if (random.Below(4) == 0) uses.push_back({link, 1 + random.Below(100'000'000'000)});
    }
    transfers.push_back(Make(id, static_cast<std::int64_t>(random.Below(1'000'000'000)),
                             static_cast<std::int64_t>(random.Below(20'000'000)),
                             static_cast<std::int64_t>(random.Below(400'000'000)), uses));
    transfers.back().weight = 1 + static_cast<std::uint32_t>(random.Below(24));
  }
  return transfers;
}

TEST(TransferSetTest, ResultsDoNotDependOnTheOrderOfArrival) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::vector<std::uint64_t> capacities(8, 100'000'000'000);
    std::vector<Transfer> traffic = RandomTraffic(seed, capacities.size());
    TransferSet first(capacities);
    for (const Transfer& transfer : traffic) first.Add(transfer);
    const Results expected = RunAll(first);

    // Shuffled, and each made known only just before it starts.
    base::Random random(seed + 1000);
    for (std::size_t i = traffic.size(); i > 1; --i)
      std::swap(traffic[i - 1], traffic[random.Below(i)]);
    std::stable_sort(traffic.begin(), traffic.end(),
                     [](const Transfer& a, const Transfer& b) { return a.start < b.start; });
    TransferSet second(capacities);
    std::vector<Finish> finished;
    for (const Transfer& transfer : traffic) {
      while (second.NextTime() && *second.NextTime() < transfer.start) second.Advance(finished);
      second.Add(transfer);
    }
    while (second.NextTime()) second.Advance(finished);

    Results actual;
    for (const Finish& end : finished) actual.emplace_back(end.key.sequence, end.finish.ps);
    ASSERT_EQ(actual, expected) << "seed " << seed;
  }
}

TEST(TransferSetTest, CompanyNeverMakesATransferFasterThanAlone) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::vector<std::uint64_t> capacities(6, 100'000'000'000);
    const std::vector<Transfer> traffic = RandomTraffic(seed, capacities.size());
    TransferSet set(capacities);
    for (const Transfer& transfer : traffic) set.Add(transfer);

    std::vector<Finish> finished;
    while (set.NextTime()) set.Advance(finished);

    ASSERT_EQ(finished.size(), traffic.size());
    for (const Finish& end : finished) {
      const Transfer& transfer = traffic[end.key.sequence];
      ASSERT_GE(end.finish, transfer.start + transfer.latency + transfer.alone) << seed;
    }
  }
}

}  // namespace
}  // namespace eidolon::network::flow
