#include "services/network/communicator/folded_job_fixture_test.h"

namespace eidolon::network::communicator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(FoldedJobTest, ASplitNeedsTheLiveMembersOfItsColourAlone) {
  const std::uint64_t world = JoinWorld();
  const auto split = [&](std::uint32_t rank, std::int32_t color,
                         std::vector<std::uint32_t> members) {
    Arrival arrival = Arriving(rank, std::move(members));
    arrival.rank = static_cast<std::int32_t>(rank);  // In the parent.
    arrival.color = color;
    return job_.Split(ServerOf(rank), world, arrival);
  };
  ASSERT_TRUE(split(0, 5, {0, 4, 8, 12}).has_value());
  ASSERT_TRUE(split(15, -1, {}).has_value());

  const JoinedNotice made = recorder_.All<JoinedNotice>(0).back();
  EXPECT_NE(made.communicator, world);
  EXPECT_EQ(made.size, 4);
  EXPECT_EQ(made.rank, 0);
  EXPECT_THAT(made.parent_ranks, ElementsAre(0, 4, 8, 12));
  EXPECT_EQ(recorder_.All<JoinedNotice>(3).back().communicator, 0u);
}

// Of the world: rank 0 and the live rank 15 with two mirrored ranks.
class FoldedSplitTest : public FoldedJobTest {
 protected:
  base::Result<void> Split(std::uint32_t rank) {
    Arrival arrival = Arriving(rank, {0, 3, 12, 15});
    arrival.rank = static_cast<std::int32_t>(rank);
    arrival.color = 5;
    return job_.Split(ServerOf(rank), world_, arrival);
  }
  void ExpectFailed(const std::string& reason) {
    const auto failed = recorder_.All<FailedNotice>(0);
    ASSERT_THAT(failed, SizeIs(2)) << "the request, and the communicator";
    EXPECT_EQ(failed[0].request, 100u);
    EXPECT_EQ(failed[1].communicator, world_);
    EXPECT_THAT(failed[0].reason, HasSubstr(reason));
    EXPECT_THAT(job_.Waits(), IsEmpty());
  }

  const std::uint64_t world_ = JoinWorld();
};

TEST_F(FoldedSplitTest, FailsWhenAMemberLeavesThatHasNotCome) {
  ASSERT_TRUE(Split(0).has_value());
  ASSERT_TRUE(job_.Leave(3, world_, 15).has_value());

  ExpectFailed("rank 15 left while others");
}

TEST_F(FoldedSplitTest, FailsWhenTheServerOfAMemberGoesThatHasNotCome) {
  ASSERT_TRUE(Split(0).has_value());
  job_.Disconnect(3);

  ExpectFailed("rank 15 has gone with server 3");
}

TEST_F(FoldedSplitTest, FailsWhenAMemberHasLeftAlready) {
  ASSERT_TRUE(job_.Leave(3, world_, 15).has_value());
  ASSERT_TRUE(Split(0).has_value());

  ExpectFailed("rank 15 has left");
}

TEST_F(FoldedSplitTest, OtherGroupsDoNotWaitForAMemberThatHasLeft) {
  ASSERT_TRUE(job_.Leave(3, world_, 15).has_value());
  Arrival arrival = Arriving(0, {0, 4, 8, 12});
  arrival.color = 5;
  ASSERT_TRUE(job_.Split(0, world_, arrival).has_value());

  EXPECT_THAT(recorder_.All<FailedNotice>(0), IsEmpty());
  EXPECT_EQ(recorder_.All<JoinedNotice>(0).back().size, 4);
}

TEST_F(FoldedJobTest, MembersOfASplitMeetHoweverManyOthersEachOfThemHeardOf) {
  const std::uint64_t world = JoinWorld();
  EXPECT_GT(recorder_.All<JoinedNotice>(0).back().split.ps, 0)
      << "what agents answer by themselves";
  const auto split = [&](std::uint32_t rank, std::vector<std::uint32_t> members) {
    Arrival arrival = Arriving(rank, std::move(members));
    arrival.rank = static_cast<std::int32_t>(rank);
    arrival.color = 5;
    return job_.Split(ServerOf(rank), world, arrival);
  };
  // Rank 15's second group is rank 0's first.
  ASSERT_TRUE(split(15, {12, 13, 14, 15}).has_value());
  const std::size_t before = recorder_.All<JoinedNotice>(3).size();
  ASSERT_TRUE(split(15, {0, 3, 12, 15}).has_value());
  EXPECT_THAT(recorder_.All<JoinedNotice>(3), SizeIs(before)) << "rank 0 has not come";
  ASSERT_TRUE(split(0, {0, 3, 12, 15}).has_value());

  EXPECT_EQ(recorder_.All<JoinedNotice>(0).back().size, 4);
  EXPECT_EQ(recorder_.All<JoinedNotice>(0).back().communicator,
            recorder_.All<JoinedNotice>(3).back().communicator);
}

}  // namespace
}  // namespace eidolon::network::communicator
