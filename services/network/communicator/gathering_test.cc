#include "services/network/communicator/gathering.h"

#include <gtest/gtest.h>

namespace eidolon::network::communicator {
namespace {

Arrival At(std::int32_t rank, std::int32_t color = 0, std::int32_t key = 0) {
  return {.request = static_cast<std::uint64_t>(rank),
          .member = {.global_rank = rank + 10, .server = 0, .device = 0},
          .rank = rank,
          .color = color,
          .key = key};
}

TEST(MeetingTest, IsCompleteWithTheLastMember) {
  Gathering gathering(2);

  EXPECT_EQ(gathering.Enter(2, At(1)), false);
  EXPECT_EQ(gathering.Enter(2, At(0)), true);
}

TEST(MeetingTest, RefusesMembersThatDoNotFit) {
  Gathering gathering(2);
  ASSERT_TRUE(gathering.Enter(2, At(1)).has_value());

  EXPECT_EQ(gathering.Enter(3, At(2)).error().message,
            "rank 2 (global rank 12) joins a communicator of 3 ranks that others join with 2");
  EXPECT_EQ(gathering.Enter(2, At(2)).error().message, "rank 2 joins a communicator of 2 ranks");
  EXPECT_EQ(gathering.Enter(2, At(1)).error().message,
            "global ranks 11 and 11 both join a communicator as rank 1");
}

TEST(MeetingTest, RanksMayNotShareAGpu) {
  EXPECT_EQ(CheckDistinct({At(0), At(1)}).error().message,
            "duplicate GPU: ranks 0 and 1 of a communicator both use GPU 0 of server 0");
  Arrival other = At(1);
  other.member.device = 1;
  EXPECT_TRUE(CheckDistinct({At(0), other}).has_value());
}

TEST(MeetingTest, SplitsByColorAndOrdersByKeyThenRank) {
  const std::vector<std::optional<Arrival>> arrivals = {At(0, 1, 5), At(1, 0, 0), At(2, 1, 3),
                                                        At(3, -1, 0), At(4, 1, 3)};

  const auto groups = SplitByColor(arrivals);

  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].color, 0);
  ASSERT_EQ(groups[1].arrivals.size(), 3u);
  EXPECT_EQ(groups[1].arrivals[0].rank, 2);
  EXPECT_EQ(groups[1].arrivals[1].rank, 4);
  EXPECT_EQ(groups[1].arrivals[2].rank, 0);
}

}  // namespace
}  // namespace eidolon::network::communicator
