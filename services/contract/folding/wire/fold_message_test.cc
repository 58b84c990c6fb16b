#include "services/contract/folding/wire/fold_message.h"

#include <gtest/gtest.h>

namespace eidolon::folding {
namespace {

TEST(FoldMessageTest, AFoldComesBackAsItWas) {
  const auto fold = Fold::Make(
      {.ranks = 64, .dimensions = {{.stride = 16, .size = 4}}, .live_per_class = 2, .live = {5}});
  ASSERT_TRUE(fold.has_value()) << fold.error().message;

  const auto back = FromProto(ToProto(*fold));

  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->ranks(), 64u);
  EXPECT_EQ(back->live(), fold->live());
  EXPECT_EQ(back->dimensions(), fold->dimensions());
}

TEST(FoldMessageTest, DimensionsComeBackAsTheyWere) {
  const std::vector<Dimension> dimensions = {{.stride = 1, .size = 8}, {.stride = 64, .size = 4}};
  DimensionMessages messages;

  AddDimensions(dimensions, &messages);

  EXPECT_EQ(DimensionsFrom(messages), dimensions);
}

TEST(FoldMessageTest, AnEmptyMessageIsAJobThatIsNotFolded) {
  const auto fold = FromProto({});

  ASSERT_TRUE(fold.has_value());
  EXPECT_FALSE(fold->is_folded());
}

TEST(FoldMessageTest, RefusesADamagedMessage) {
  common::v1::Folding folding;
  folding.set_ranks(8);
  AddRuns(std::vector<RankRun>{{.first = 4, .step = 1, .count = 9}}, folding.mutable_live());

  EXPECT_FALSE(FromProto(folding).has_value());
}

}  // namespace
}  // namespace eidolon::folding
