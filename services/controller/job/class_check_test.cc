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
                                HasSubstr("1000 and 1200 MiB"), HasSubstr("--live 32"))));
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

TEST(ClassCheckTest, OtherJobsHaveNoClasses) {
  EXPECT_THAT(MemoryWarnings({}, std::vector<RankMemory>{Peak(0, 1), Peak(1, 2)}), IsEmpty());
}

TEST(ClassCheckTest, ProcessesThatAreNoRanksAreLeftOut) {
  EXPECT_THAT(MemoryWarnings(FoldOf({}), std::vector<RankMemory>{Peak(-1, 1), Peak(0, 1000)}),
              IsEmpty());
}

}  // namespace
}  // namespace eidolon::controller::job
