#include "services/agent/launch/starting_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/testing/temporary_directory.h"

namespace eidolon::agent::launch {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class StartingRanksTest : public ::testing::Test {
 protected:
  void Slices(pid_t process, std::uint64_t slices) {
    const auto task =
        std::filesystem::path(folder_.path()) / std::to_string(process) / "task" / "7";
    std::filesystem::create_directories(task);
    std::ofstream(task / "schedstat") << "100 200 " << slices << "\n";
  }

  testing::TemporaryDirectory folder_;
  StartingRanks ranks_{folder_.path()};
};

TEST_F(StartingRanksTest, NobodyStartingIsAtRest) { EXPECT_TRUE(ranks_.AreAtRest({}, 0)); }

TEST_F(StartingRanksTest, ARankIsAtRestOnceNoThreadHasHadATurnForASecond) {
  Slices(5, 10);
  EXPECT_FALSE(ranks_.AreAtRest({5}, 0));
  EXPECT_FALSE(ranks_.AreAtRest({5}, 900 * kMs));
  Slices(5, 11);
  EXPECT_FALSE(ranks_.AreAtRest({5}, 1000 * kMs)) << "it had a turn in between";
  EXPECT_FALSE(ranks_.AreAtRest({5}, 1999 * kMs));
  EXPECT_TRUE(ranks_.AreAtRest({5}, 2000 * kMs));
}

TEST_F(StartingRanksTest, EachOfThemHasToBe) {
  Slices(5, 10);
  ranks_.AreAtRest({5}, 0);
  Slices(6, 1);

  EXPECT_FALSE(ranks_.AreAtRest({5, 6}, 1000 * kMs));
  EXPECT_TRUE(ranks_.AreAtRest({5}, 1001 * kMs)) << "the other one has introduced itself";
}

TEST_F(StartingRanksTest, AProcessThatPollsHoldsTheOthersUpForSomeSecondsOnly) {
  std::uint64_t slices = 0;
  std::int64_t now = 0;
  Slices(5, slices);
  while (!ranks_.AreAtRest({5}, now) && now < 60'000 * kMs) {
    now += 100 * kMs;
    Slices(5, ++slices);
  }

  EXPECT_EQ(now, 5'000 * kMs);
}

}  // namespace
}  // namespace eidolon::agent::launch
