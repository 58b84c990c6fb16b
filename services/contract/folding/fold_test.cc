#include "services/contract/folding/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::folding {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Fold Made(FoldOptions options) {
  auto fold = Fold::Make(std::move(options));
  EXPECT_TRUE(fold.has_value()) << fold.error().message;
  return fold.value_or(Fold());
}

TEST(FoldTest, WithoutAFoldEveryRankRuns) { EXPECT_FALSE(Fold().is_folded()); }

TEST(FoldTest, OneClassHasItsFirstAndLastRankLive) {
  const Fold fold = Made({.ranks = 1024});

  EXPECT_TRUE(fold.is_folded());
  EXPECT_THAT(fold.live(), ElementsAre(0u, 1023u));
  EXPECT_EQ(fold.mirrored_ranks(), 1022u);
  EXPECT_EQ(fold.ClassOf(17), fold.ClassOf(0));
  EXPECT_TRUE(fold.IsLive(1023));
  EXPECT_FALSE(fold.IsLive(1));
  EXPECT_EQ(fold.Describe(), "1024 ranks: 2 live (0, 1023), 1022 mirrored");
}

TEST(FoldTest, StagesOfAPipelineAreClasses) {
  // 4 stages, the outermost dimension of 64 ranks.
  const Fold fold = Made({.ranks = 64, .dimensions = {{.stride = 16, .size = 4}}});

  EXPECT_EQ(fold.classes(), 4u);
  EXPECT_THAT(fold.live(), ElementsAre(0u, 15u, 16u, 31u, 32u, 47u, 48u, 63u));
  EXPECT_EQ(fold.ClassOf(17), 1u);
  EXPECT_EQ(fold.ClassOf(63), 3u);
}

TEST(FoldTest, InnermostDimensionsAndSeveralDimensionsMakeClasses) {
  const Fold inner =
      Made({.ranks = 8, .dimensions = {{.stride = 1, .size = 2}}, .live_per_class = 1});
  EXPECT_THAT(inner.live(), ElementsAre(0u, 1u));

  const Fold both = Made({.ranks = 16,
                          .dimensions = {{.stride = 8, .size = 2}, {.stride = 1, .size = 2}},
                          .live_per_class = 1});
  EXPECT_EQ(both.classes(), 4u);
  EXPECT_THAT(both.live(), ElementsAre(0u, 1u, 8u, 9u));
}

TEST(FoldTest, RanksMayBeLiveBesides) {
  const Fold fold = Made({.ranks = 64, .live_per_class = 1, .live = {17, 3, 17}});

  EXPECT_THAT(fold.live(), ElementsAre(0u, 3u, 17u));
}

TEST(FoldTest, SmallClassesAreWhollyLive) {
  EXPECT_THAT(Made({.ranks = 2}).live(), ElementsAre(0u, 1u));
  EXPECT_THAT(Made({.ranks = 3, .live_per_class = 8}).live(), ElementsAre(0u, 1u, 2u));
}

TEST(FoldTest, ServersWithoutALiveRankAreNotNamed) {
  const Fold fold = Made({.ranks = 64, .live = {9}});

  EXPECT_THAT(fold.LiveServers(8), ElementsAre(0u, 1u, 7u));
  EXPECT_THAT(fold.LiveOn(1, 8), ElementsAre(9u));
  EXPECT_THAT(fold.LiveOn(2, 8), IsEmpty());
  EXPECT_THAT(fold.LiveOn(7, 8), ElementsAre(63u));
}

TEST(FoldTest, RefusesWhatIsNotAPartOfTheJob) {
  const auto refusal = [](FoldOptions options) {
    const auto fold = Fold::Make(std::move(options));
    return fold.has_value() ? "" : fold.error().message;
  };
  EXPECT_THAT(refusal({.ranks = 0}), HasSubstr("without ranks"));
  EXPECT_THAT(refusal({.ranks = 8, .live = {8}}), HasSubstr("rank 8 of a job with 8 ranks"));
  EXPECT_THAT(refusal({.ranks = 8, .live_per_class = 0}), HasSubstr("at least one"));
  EXPECT_THAT(refusal({.ranks = 8, .dimensions = {{.stride = 3, .size = 2}}}),
              HasSubstr("does not divide 8 ranks"));
  EXPECT_THAT(refusal({.ranks = 8, .dimensions = {{.stride = 0, .size = 2}}}),
              HasSubstr("does not divide"));
  EXPECT_THAT(refusal({.ranks = 1 << 20, .dimensions = {{.stride = 1, .size = 1 << 14}}}),
              HasSubstr("more than 4096 classes"));
}

}  // namespace
}  // namespace eidolon::folding
