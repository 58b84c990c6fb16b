#include "services/agent/server/rank_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace eidolon::agent::server {
namespace {

using ::testing::ElementsAre;
using Rank = std::optional<std::int32_t>;
constexpr std::nullopt_t kNone = std::nullopt;

// Processes 1, 2, ... of the second of two servers with four ranks each, unless a test says
// otherwise.
class RankRegistryTest : public ::testing::Test {
 protected:
  void Introduce(int count, RankRegistry::Environment environment = {}) {
    for (int i = 0; i < count; ++i) registry_.Introduce(++processes_, environment);
  }
  void EnterWorld(std::uint32_t process, std::int32_t rank) {
    registry_.Enter(process, {.communicator = "world", .size = 8, .rank = rank});
  }
  std::vector<Rank> Ranks() const {
    std::vector<Rank> ranks;
    for (std::uint32_t process = 1; process <= processes_; ++process) {
      ranks.push_back(registry_.RankOf(process));
    }
    return ranks;
  }

  RankRegistry registry_{{.first = 4, .count = 4, .servers = 2}};
  std::uint32_t processes_ = 0;
};

TEST_F(RankRegistryTest, TheWorldTellsRanksThatTheEnvironmentDoesNotName) {
  Introduce(3);

  EnterWorld(3, 4);
  EnterWorld(2, 5);

  EXPECT_THAT(Ranks(), ElementsAre(kNone, 5, 4));
  EXPECT_EQ(registry_.EndIteration(2), 5);
  EXPECT_TRUE(registry_.IsCertain(3));
}

TEST_F(RankRegistryTest, TheEnvironmentPromisesARankToTheFirstWhoClaimsIt) {
  EXPECT_TRUE(registry_.Introduce(1, {.rank = 6}));
  EXPECT_FALSE(registry_.Introduce(2, {.rank = 6})) << "what a rank has started";
  EXPECT_FALSE(registry_.Introduce(3, {.local_rank = 3}))
      << "it is a rank, but nobody waits for it";
  processes_ = 3;

  EXPECT_THAT(Ranks(), ElementsAre(6, kNone, 7));
  EXPECT_FALSE(registry_.IsCertain(3));
}

TEST_F(RankRegistryTest, TheWorldOverrulesAnInheritedRank) {
  Introduce(4, {.rank = 4});

  EnterWorld(2, 5);
  EnterWorld(3, 4);
  EnterWorld(4, 6);

  EXPECT_THAT(Ranks(), ElementsAre(kNone, 5, 4, 6));
  EXPECT_THAT(registry_.TakeDisplaced(), ElementsAre(1)) << "the launcher";
}

TEST_F(RankRegistryTest, OfTwoInTheWorldWithOneRankTheFirstKeepsIt) {
  Introduce(3);
  EnterWorld(1, 4);
  EnterWorld(2, 4);
  EXPECT_THAT(Ranks(), ElementsAre(4, kNone, kNone));

  registry_.NoteGone(1);
  EnterWorld(3, 4);
  EXPECT_THAT(Ranks(), ElementsAre(kNone, kNone, 4)) << "the first is gone and has shown nothing";

  registry_.EndIteration(3);
  registry_.NoteGone(3);
  Introduce(1);
  EnterWorld(4, 4);
  EXPECT_THAT(Ranks(), ElementsAre(kNone, kNone, 4, kNone));
}

TEST_F(RankRegistryTest, AProcessWithSeveralGpusIsTheLowestOfItsRanks) {
  Introduce(1);

  EnterWorld(1, 6);
  EnterWorld(1, 4);
  EnterWorld(1, 5);
  registry_.Enter(1, {.communicator = "reversed", .size = 8, .rank = 1});

  EXPECT_THAT(Ranks(), ElementsAre(4));
}

TEST_F(RankRegistryTest, AWorkerTakesTheRankOfALauncherThatOnlyClaimsIt) {
  Introduce(2, {.rank = 4});
  registry_.NoteWork(2, 0);

  EXPECT_EQ(registry_.EndIteration(2), 4);

  EXPECT_THAT(Ranks(), ElementsAre(kNone, 4));
  EXPECT_THAT(registry_.TakeDisplaced(), ElementsAre(1));
}

TEST_F(RankRegistryTest, AHelperDoesNotTakeTheRankOfItsWorkingParent) {
  Introduce(2, {.rank = 4});
  registry_.NoteWork(1, 0);
  registry_.NoteWork(2, 0);

  EXPECT_EQ(registry_.EndIteration(2), kNone);
  EXPECT_EQ(registry_.EndIteration(1), 4);

  registry_.Settle();
  EXPECT_THAT(Ranks(), ElementsAre(4, kNone));
}

TEST_F(RankRegistryTest, OnAServerWithOneRankWhoeverIteratesFirstIsIt) {
  RankRegistry registry({.first = 0, .count = 1, .servers = 1});
  registry.Introduce(1, {});
  registry.Introduce(2, {});
  registry.NoteWork(1, 0);
  registry.NoteWork(2, 0);

  EXPECT_EQ(registry.EndIteration(2), 0);
  EXPECT_EQ(registry.EndIteration(1), kNone);
  EXPECT_FALSE(registry.IsCertain(2));
}

TEST_F(RankRegistryTest, RanksThatNeverMeetAreToldByTheirGpus) {
  Introduce(4);
  registry_.NoteWork(2, 3);
  registry_.NoteWork(3, 1);
  registry_.NoteWork(4, 1);

  EXPECT_EQ(registry_.EndIteration(2), kNone);
  registry_.Settle();

  EXPECT_THAT(Ranks(), ElementsAre(kNone, 7, 5, 4));
}

TEST_F(RankRegistryTest, AProgramThatLeavesGpusUnusedIsToldByItsLargestCommunicator) {
  Introduce(2);
  for (std::uint32_t process : {1, 2}) {
    registry_.NoteWork(process, 0);
    registry_.Enter(process, {.communicator = std::to_string(process), .size = 2, .rank = 0});
    const auto rank = static_cast<std::int32_t>(4 - process);
    registry_.Enter(process, {.communicator = "all", .size = 4, .rank = rank});
  }

  registry_.Settle();

  EXPECT_THAT(Ranks(), ElementsAre(3, 2)) << "the others are on the first server";
}

TEST_F(RankRegistryTest, ACommunicatorOfOneServerNumbersItsOwnRanks) {
  Introduce(2);
  for (std::uint32_t process : {1, 2}) {
    registry_.NoteWork(process, 0);
    registry_.Enter(process,
                    {.communicator = "pair", .size = 2, .rank = 2 - static_cast<int>(process)});
  }

  registry_.Settle();

  EXPECT_THAT(Ranks(), ElementsAre(5, 4));
}

TEST_F(RankRegistryTest, CommunicatorsOfPartsDoNotTellRanks) {
  Introduce(4);
  for (std::uint32_t process = 1; process <= 4; ++process) {
    registry_.NoteWork(process, process - 1);
    registry_.Enter(process, {.communicator = process < 3 ? "one" : "other",
                              .size = 2,
                              .rank = static_cast<int>(process % 2)});
  }

  registry_.Settle();

  EXPECT_THAT(Ranks(), ElementsAre(4, 5, 6, 7));
}

TEST_F(RankRegistryTest, AProgramThatOnlyAllocatesIsARank) {
  Introduce(2);
  registry_.NoteAllocation(2);
  EXPECT_EQ(registry_.NameOf(2), 4);

  registry_.Settle();

  EXPECT_THAT(Ranks(), ElementsAre(kNone, 4));
}

}  // namespace
}  // namespace eidolon::agent::server
