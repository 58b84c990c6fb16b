#include "services/contract/cudnn_numbers/attribute.h"

#include <gtest/gtest.h>

namespace eidolon::cudnn_numbers {
namespace {

TEST(AttributeTest, EveryTypeHasAWidthAndNoOther) {
  EXPECT_EQ(ElementBytes(kBoolean), 1u);
  EXPECT_EQ(ElementBytes(kInt64), 8u);
  EXPECT_EQ(ElementBytes(kFraction), 16u);
  EXPECT_EQ(ElementBytes(1), 4u);
  EXPECT_EQ(ElementBytes(kLastType), 4u);
  EXPECT_EQ(ElementBytes(kLastType + 1), 0u);
  EXPECT_EQ(ElementBytes(0xffffffff), 0u);
}

TEST(AttributeTest, TensorsHaveABlockOfTheirOwn) {
  EXPECT_FALSE(IsOfTensor(899));
  EXPECT_TRUE(IsOfTensor(900));
  EXPECT_TRUE(IsOfTensor(999));
  EXPECT_FALSE(IsOfTensor(1000));
}

}  // namespace
}  // namespace eidolon::cudnn_numbers
