#include "services/network/collective/kind.h"

#include <gtest/gtest.h>

namespace eidolon::network::collective {
namespace {

TEST(KindTest, NamesAreTheOnesOfReports) {
  EXPECT_EQ(Name(Kind::kReduceScatter), "reduce_scatter");
  EXPECT_EQ(Name(Algorithm::kNvlsTree), "nvls_tree");
  EXPECT_EQ(Name(Protocol::kLl128), "ll128");
}

TEST(KindTest, KnowsWhoHasARootAndWhoReduces) {
  EXPECT_TRUE(HasRoot(Kind::kScatter));
  EXPECT_FALSE(HasRoot(Kind::kAllToAll));
  EXPECT_TRUE(Reduces(Kind::kReduce));
  EXPECT_FALSE(Reduces(Kind::kBroadcast));
}

}  // namespace
}  // namespace eidolon::network::collective
