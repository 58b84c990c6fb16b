#include "services/agent/rendezvous/ghost_answers.h"

#include <gtest/gtest.h>

namespace eidolon::agent::rendezvous {
namespace {

TEST(GhostAnswersTest, UniqueIdsAreMadeUpAlikeForAll) {
  const auto id = GhostValue("/default_pg/0//cuda//0");
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->size(), 128u);
  EXPECT_EQ(GhostValue("/default_pg/0//cuda//0"), id);
  EXPECT_NE(GhostValue("/default_pg/0//cuda//1"), id);
  EXPECT_TRUE(GhostValue("/2//cuda//3:5").has_value());
  EXPECT_TRUE(GhostValue("/default_pg/0//cuda//0/nccl_storekey_0_7").has_value());
}

TEST(GhostAnswersTest, NothingElseIsMadeUp) {
  for (const char* key :
       {"/default_pg/0//cuda//ready", "0", "/users/key", "/2//cuda//1:", "/2//cuda//",
        "/2//cuda//x1", "/2//cpu//0", "/2//cuda//0/1", "/2//cuda//pg_wrapper:0/0/1"}) {
    EXPECT_FALSE(GhostValue(key).has_value()) << key;
  }
}

TEST(GhostAnswersTest, BarriersCountGhostsOnceAllLiveRanksHaveCome) {
  const World world{.size = 64, .live = {0, 63}};
  EXPECT_EQ(GhostCount(world, "/store_based_barrier_key:1", 1), 0);
  EXPECT_EQ(GhostCount(world, "/store_based_barrier_key:1", 2), 62);
  EXPECT_EQ(GhostCount(world, "/some_counter", 2), 0);
}

}  // namespace
}  // namespace eidolon::agent::rendezvous
