#include "services/agent/rendezvous/mirrored_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::agent::rendezvous {
namespace {

using ::testing::HasSubstr;

constexpr char kMembersBarrier[] =
    "/default_pg/0//ad56679d2c95f00a464e146ac76c2deb475d8262//"
    "store_based_barrier_key:ad56679d2c95f00a464e146ac76c2deb475d8262";

TEST(MirroredAnswersTest, UniqueIdsAreMadeUpAlikeForAll) {
  const auto id = MirroredValue("/default_pg/0//cuda//0");
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->size(), 128u);
  EXPECT_EQ(MirroredValue("/default_pg/0//cuda//0"), id);
  EXPECT_NE(MirroredValue("/default_pg/0//cuda//1"), id);
  EXPECT_TRUE(MirroredValue("/2//cuda//3:5").has_value());
  EXPECT_TRUE(MirroredValue("/default_pg/0//cuda//0/nccl_storekey_0_7").has_value());
  EXPECT_TRUE(MirroredValue("/default_pg/0//cuda//nccl4py_uid").has_value());
}

TEST(MirroredAnswersTest, NothingElseIsMadeUp) {
  for (const char* key :
       {"/default_pg/0//cuda//ready", "0", "/users/key", "/2//cuda//1:", "/2//cuda//",
        "/2//cuda//x1", "/2//cpu//0", "/2//cuda//0/1", "/2//cuda//pg_wrapper:0/0/1",
        "/default_pg/0//store_based_barrier_key:1:last_worker", "/nccl4py_uid"}) {
    EXPECT_FALSE(MirroredValue(key).has_value()) << key;
  }
}

TEST(MirroredAnswersTest, BarriersCountMirroredRanksOnceAllLiveRanksHaveCome) {
  const World world{.size = 64, .live = {0, 63}};
  for (const char* key : {"/default_pg/store_based_barrier_key:0",
                          "/default_pg/0//store_based_barrier_key:1", "/save0/num_members"}) {
    EXPECT_EQ(MirroredCount(world, key, 1), 0) << key;
    EXPECT_EQ(MirroredCount(world, key, 2), 62) << key;
  }
  EXPECT_EQ(MirroredCount(world, "/some_counter", 2), 0);
}

// Its members alone come, and the store does not know who they are.
TEST(MirroredAnswersTest, ABarrierOfAGroupsMembersEndsWithAMirroredRank) {
  const World world{.size = 64, .live = {0, 63}};
  EXPECT_EQ(MirroredCount(world, kMembersBarrier, 2), 0);
  EXPECT_EQ(MirroredValue(std::string(kMembersBarrier) + ":last_worker"), "1");
  EXPECT_FALSE(MirroredValue(kMembersBarrier).has_value());
}

TEST(MirroredAnswersTest, MirroredRanksComeToABarrierOfTheWholeJob) {
  const World world{.size = 64, .live = {0, 63}};
  EXPECT_EQ(MirroredRanksAtBarrier(world, 64, 1), 0);
  EXPECT_EQ(MirroredRanksAtBarrier(world, 64, 2), 62);
  EXPECT_EQ(MirroredRanksAtBarrier(world, 8, 2), 0);
}

TEST(MirroredAnswersTest, KeysThatMirroredRanksCannotSetSayWhy) {
  for (const char* key : {"/default_pg/0//cpu//0/3", "/default_pg/0//1//cuda//0/3"}) {
    EXPECT_THAT(WhyNobodySets(key), HasSubstr("the address of rank 3 of a Gloo group")) << key;
  }
  EXPECT_THAT(WhyNobodySets("/default_pg/0//cuda//pg_wrapper:0/0/3"),
              HasSubstr("TORCH_DISTRIBUTED_DEBUG=DETAIL"));
  EXPECT_THAT(WhyNobodySets("/AsyncCheckpointProcess/0//cpu//0/3"), HasSubstr("checkpoints"));
  EXPECT_THAT(WhyNobodySets("/save/last_member"), HasSubstr("barriers of the whole job"));
  for (const char* key : {"/users/key", "/users/0/3", "", "//", "///", "0/3", "//0/3", "///0/3"}) {
    EXPECT_EQ(WhyNobodySets(key), "") << key;
  }
}

}  // namespace
}  // namespace eidolon::agent::rendezvous
