#include "services/controller/job/class_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::controller::job {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMebibyte = 1 << 20;

folding::Fold FoldOf(std::vector<folding::Dimension> dimensions) {
  auto fold = folding::Fold::Make({.ranks = 64, .dimensions = std::move(dimensions)});
  EXPECT_TRUE(fold.has_value());
  return fold.value_or(folding::Fold());
}

RankMemory Peak(std::int32_t rank, std::uint64_t mebibytes) {
  return {.rank = rank, .peak_bytes = mebibytes * kMebibyte};
}

TEST(ClassCheckTest, RanksOfOneClassThatUseOtherMemoryAreNamed) {
  const std::vector<RankMemory> memory = {Peak(0, 1000), Peak(63, 1200)};

  EXPECT_THAT(MemoryWarnings(FoldOf({}), memory),
              ElementsAre(AllOf(HasSubstr("ranks 0 and 63 are taken to be alike"),
                                HasSubstr("1000 and 1200 MiB"), HasSubstr("--live 31"))));
}

TEST(ClassCheckTest, UnevenShardsAreNoDifference) {
  EXPECT_THAT(MemoryWarnings(FoldOf({}), std::vector<RankMemory>{Peak(0, 1000), Peak(63, 991)}),
              IsEmpty());
}

TEST(ClassCheckTest, ClassesAreNotComparedWithEachOther) {
  const folding::Fold stages = FoldOf({{.stride = 32, .size = 2}});
  const std::vector<RankMemory> memory = {Peak(0, 1000), Peak(31, 1000), Peak(32, 2000),
                                          Peak(63, 2500)};

  EXPECT_THAT(MemoryWarnings(stages, memory), ElementsAre(HasSubstr("ranks 32 and 63")));
}

TEST(ClassCheckTest, NeighboursHaveMirroredRanksBetweenThem) {
  const auto neighbours = [](folding::FoldOptions options) {
    std::vector<std::vector<std::uint32_t>> all;
    for (const Neighbours& one : NeighboursOf(*folding::Fold::Make(std::move(options)))) {
      all.push_back({one.lower, one.upper, one.between});
    }
    return all;
  };
  using testing::ElementsAreArray;
  EXPECT_THAT(neighbours({.ranks = 64}), ElementsAre(ElementsAre(0u, 63u, 31u)));
  EXPECT_THAT(neighbours({.ranks = 4, .live = {1}}), ElementsAre(ElementsAre(1u, 3u, 2u)));
  EXPECT_THAT(neighbours({.ranks = 4, .live = {1, 2}}), IsEmpty());
  // Tensor parallel: the ranks of a class are every second one.
  EXPECT_THAT(neighbours({.ranks = 8, .dimensions = {{.stride = 1, .size = 2}}}),
              ElementsAre(ElementsAre(0u, 6u, 4u), ElementsAre(1u, 7u, 5u)));
}

RankIteration Iteration(std::int32_t rank, std::uint32_t index, std::uint64_t compute) {
  return {
      .rank = rank, .index = index, .end_ps = 10'000'000'000, .breakdown = {.compute = compute}};
}

TEST(ClassCheckTest, NeighboursWhoseKernelsTakeOtherTimesInTwoIterationsAreNamed) {
  ClassTimes times(FoldOf({}));
  EXPECT_FALSE(times.Add(Iteration(0, 1, 3'000'000'000)));
  EXPECT_FALSE(times.Add(Iteration(63, 1, 4'000'000'000))) << "it may have been for once";
  EXPECT_FALSE(times.Add(Iteration(63, 2, 4'000'000'000)));
  const auto found = times.Add(Iteration(0, 2, 3'000'000'000));

  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(*found,
              AllOf(HasSubstr("ranks 0 and 63 are taken to be alike"),
                    HasSubstr("3 and 4 ms of iteration 2 (10 ms)"), HasSubstr("--live 31")));
}

TEST(ClassCheckTest, TimesThatCannotMoveThePredictionAreNoDifference) {
  ClassTimes times(FoldOf({}));
  for (std::uint32_t index = 0; index < 6; ++index) {
    EXPECT_FALSE(times.Add(Iteration(0, index, 3'000'000'000)));
    EXPECT_FALSE(times.Add(Iteration(63, index, 3'400'000'000)));
    EXPECT_FALSE(times.Add(Iteration(7, index, 9'000'000'000))) << "no neighbour";
  }
  for (std::uint32_t index = 6; index < 12; ++index) {  // Every second time.
    EXPECT_FALSE(times.Add(Iteration(0, index, 3'000'000'000)));
    EXPECT_FALSE(times.Add(Iteration(63, index, index % 2 == 0 ? 5'000'000'000 : 3'000'000'000)));
  }
}

TEST(ClassCheckTest, OtherJobsHaveNoClasses) {
  EXPECT_THAT(MemoryWarnings({}, std::vector<RankMemory>{Peak(0, 1), Peak(1, 2)}), IsEmpty());
}

TEST(ClassCheckTest, ProcessesThatAreNoRanksAreLeftOut) {
  EXPECT_THAT(MemoryWarnings(FoldOf({}), std::vector<RankMemory>{Peak(-1, 1), Peak(0, 1000)}),
              IsEmpty());
}

}  // namespace
}  // namespace eidolon::controller::job
