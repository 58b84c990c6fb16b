#include "services/network/flow/load_history.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "services/network/flow/transfer_set.h"

namespace eidolon::network::flow {
namespace {

using base::Duration;
using base::SimTime;

SimTime At(std::int64_t ps) { return SimTime{ps}; }

class LoadHistoryTest : public ::testing::Test {
 protected:
  void Note(LoadHistory* history, std::int64_t at) {
    history->Note(At(at), [this](std::uint32_t link) { return loads_[link]; });
  }
  std::map<std::uint32_t, std::uint64_t> loads_;
};

TEST_F(LoadHistoryTest, OnlyChangesOfWatchedLinksAreKept) {
  LoadHistory history;
  EXPECT_FALSE(history.IsWatching());
  history.Watch(3);
  loads_ = {{3, 10}, {4, 99}};
  Note(&history, 5);
  Note(&history, 6);
  loads_[3] = 20;
  Note(&history, 9);

  EXPECT_EQ(history.Read({3}, At(0), At(100)),
            (std::vector<LoadChange>{{At(0), 3, 0}, {At(5), 3, 10}, {At(9), 3, 20}}));
}

TEST_F(LoadHistoryTest, AWindowBeginsWithTheLoadOfItsFirstMoment) {
  LoadHistory history;
  history.Watch(3);
  for (std::int64_t at : {10, 20, 30}) {
    loads_[3] = static_cast<std::uint64_t>(at);
    Note(&history, at);
  }

  EXPECT_EQ(history.Read({3}, At(15), At(25)),
            (std::vector<LoadChange>{{At(15), 3, 10}, {At(20), 3, 20}}));
}

TEST_F(LoadHistoryTest, TheOldestChangesAreForgottenAndNothingIsSaidOfTheirTime) {
  LoadHistory history(/*changes_max=*/2);
  history.Watch(3);
  history.Watch(7);
  for (std::int64_t at : {10, 20, 30}) {
    loads_[3] = static_cast<std::uint64_t>(at);
    Note(&history, at);
  }

  EXPECT_EQ(
      history.Read({3, 7}, At(0), At(100)),
      (std::vector<LoadChange>{{At(10), 3, 10}, {At(10), 7, 0}, {At(20), 3, 20}, {At(30), 3, 30}}));
}

TEST_F(LoadHistoryTest, AForgottenLinkIsNoLongerLookedAt) {
  LoadHistory history;
  history.Watch(3);
  history.Forget(3);

  EXPECT_FALSE(history.IsWatching());
}

// Two transfers share a link of 8 bytes a second for a while: 2 ps at 4 + 4, then one goes on
// alone.
TEST_F(LoadHistoryTest, ATransferSetKeepsWhatItSimulatesAndSimulatesTheSame) {
  const auto run = [](bool watch, std::vector<LoadChange>* loads) {
    const std::vector<std::uint64_t> capacities = {8'000'000, 80'000'000};
    TransferSet set(capacities);
    if (watch) set.Watch(0);
    for (const std::int64_t milliseconds : {10, 20}) {
      set.Add({.key = {.job = 1, .sequence = static_cast<std::uint64_t>(milliseconds)},
               .start = SimTime{},
               .latency = Duration::Microseconds(1),
               .alone = Duration::Microseconds(1000 * milliseconds),
               .uses = ShareUses({{0, 8'000'000}, {1, 8'000'000}})});
    }
    std::vector<Finish> finished;
    while (set.NextTime()) set.Advance(finished);
    if (watch) *loads = set.LoadsOf({0}, SimTime{}, SimTime::Max());
    return finished;
  };
  std::vector<LoadChange> loads;
  const auto watched = run(true, &loads);
  const auto unwatched = run(false, nullptr);

  ASSERT_EQ(watched.size(), 2u);
  for (std::size_t i = 0; i < watched.size(); ++i) {
    EXPECT_EQ(watched[i].finish, unwatched[i].finish);
  }
  // Full from the first to the last moment, whoever of the two it is.
  const std::uint64_t full = std::uint64_t{8'000'000} << kRateBits;
  ASSERT_EQ(loads.size(), 3u);
  EXPECT_EQ(loads[0], (LoadChange{SimTime{}, 0, 0}));
  EXPECT_EQ(loads[1], (LoadChange{SimTime{1'000'000}, 0, full}));
  EXPECT_EQ(loads[2], (LoadChange{watched[1].finish, 0, 0}));
}

}  // namespace
}  // namespace eidolon::network::flow
