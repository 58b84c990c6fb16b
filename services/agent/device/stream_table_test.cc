#include "services/agent/device/stream_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/agent/device/parts_test.h"

namespace eidolon::agent::device {
namespace {

using ::testing::HasSubstr;

class StreamTableTest : public PartsTest {
 protected:
  void SetTail(std::uint32_t stream, base::SimTime time) {
    signals_.Put(At(stream).tail, {.at = time, .local = time});
  }
};

TEST_F(StreamTableTest, EachDeviceHasALegacyStreamOfItsOwn) {
  EXPECT_EQ((*streams_.Find(0, 0))->device, 0);
  EXPECT_EQ((*streams_.Find(1, 0))->device, 1);
  EXPECT_NE((*streams_.Find(0, 0))->tail, (*streams_.Find(1, 0))->tail);
}

TEST_F(StreamTableTest, NamesWhatIsUnknown) {
  ASSERT_TRUE(streams_.Create(0, 1, true).has_value());

  EXPECT_THAT(streams_.Find(2, 0).error().message, HasSubstr("device 2 does not exist"));
  EXPECT_THAT(streams_.Find(0, 7).error().message, HasSubstr("stream 7 does not exist"));
  EXPECT_THAT(streams_.Find(1, 1).error().message,
              HasSubstr("stream 1 belongs to device 0, not to 1"));
  EXPECT_THAT(streams_.Find(2, 1).error().message, HasSubstr("device 2 does not exist"));
  EXPECT_THAT(streams_.Create(0, 1, true).error().message, HasSubstr("exists already"));
  EXPECT_THAT(streams_.Create(0, 0, true).error().message, HasSubstr("exists already"));
  EXPECT_THAT(streams_.Create(2, 2, true).error().message, HasSubstr("device 2"));
  EXPECT_THAT(streams_.Destroy(0).error().message, HasSubstr("stream 0 does not exist"));
  EXPECT_THAT(streams_.EndOf(2).error().message, HasSubstr("device 2"));
}

TEST_F(StreamTableTest, TheLegacyStreamFollowsBlockingStreamsOnly) {
  ASSERT_TRUE(streams_.Create(0, 1, false).has_value());
  ASSERT_TRUE(streams_.Create(0, 2, true).has_value());
  SetTail(1, Us(10));
  SetTail(2, Us(90));

  streams_.FollowLegacyRules(At(0));

  EXPECT_EQ(streams_.TailOf(At(0)).at, Us(10));
}

TEST_F(StreamTableTest, OnlyBlockingStreamsFollowTheLegacyStream) {
  ASSERT_TRUE(streams_.Create(0, 1, false).has_value());
  ASSERT_TRUE(streams_.Create(0, 2, true).has_value());
  SetTail(0, Us(10));

  streams_.FollowLegacyRules(At(1));
  streams_.FollowLegacyRules(At(2));

  EXPECT_EQ(streams_.TailOf(At(1)).at, Us(10));
  EXPECT_EQ(streams_.TailOf(At(2)).at, Us(0));
}

TEST_F(StreamTableTest, TheDeviceEndsWithTheLatestOfItsStreams) {
  ASSERT_TRUE(streams_.Create(0, 1, true).has_value());
  ASSERT_TRUE(streams_.Create(1, 2, true).has_value());
  SetTail(1, Us(20));
  signals_.Put((*streams_.Find(1, 2))->tail, {.at = Us(90)});

  EXPECT_EQ(streams_.EndOf(0)->at, Us(20));
  EXPECT_EQ(streams_.EndOf(1)->at, Us(90));
}

TEST_F(StreamTableTest, TheDeviceWaitsForOpenWorkOfADestroyedStream) {
  ASSERT_TRUE(streams_.Create(0, 1, true).has_value());
  Issue(1, 1);
  ASSERT_TRUE(streams_.Destroy(1).has_value());
  ASSERT_NE(streams_.EndOf(0)->node, 0u);

  work_.ResolveCollective(1, Us(3), Us(30));

  EXPECT_EQ(streams_.EndOf(0)->node, 0u);
  EXPECT_EQ(streams_.EndOf(0)->at, Us(30));
}

TEST_F(StreamTableTest, ADelayMovesTheStreamOfItsLane) {
  ASSERT_TRUE(streams_.Create(0, 1, true).has_value());
  SetTail(0, Us(20));
  SetTail(1, Us(20));

  streams_.Delay(0, {.lane = At(1).lane, .end = Us(20), .by = Span(5)});

  EXPECT_EQ(streams_.TailOf(At(0)).at, Us(20));
  EXPECT_EQ(streams_.TailOf(At(1)).at, Us(25));
}

TEST_F(StreamTableTest, WhatAStreamWaitsForBesidesHidesADelay) {
  SetTail(0, Us(23));

  streams_.Delay(0, {.lane = At(0).lane, .end = Us(20), .by = Span(5)});
  EXPECT_EQ(streams_.TailOf(At(0)).at, Us(25)) << "3 of 5 us are hidden";

  streams_.Delay(0, {.lane = At(0).lane, .end = Us(10), .by = Span(5)});
  EXPECT_EQ(streams_.TailOf(At(0)).at, Us(25)) << "all of it is hidden";
}

}  // namespace
}  // namespace eidolon::agent::device
