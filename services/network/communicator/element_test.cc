#include "services/network/communicator/element.h"

#include <gtest/gtest.h>

namespace eidolon::network::communicator {
namespace {

TEST(ElementTest, KnowsSizesAndNames) {
  EXPECT_EQ(ElementBytes(kFloat8E4m3), 1u);
  EXPECT_EQ(ElementBytes(12), 0u);
  EXPECT_EQ(ElementName(kBfloat16), "bfloat16");
}

}  // namespace
}  // namespace eidolon::network::communicator
