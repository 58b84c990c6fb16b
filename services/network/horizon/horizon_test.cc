#include "services/network/horizon/horizon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::network::horizon {
namespace {

using base::SimTime;
using testing::ElementsAre;

Horizon Two() {
  Horizon horizon;
  for (SessionId session : {1, 2}) {
    horizon.Expect(session, {0});
    horizon.Connect(session);
  }
  return horizon;
}

TEST(HorizonTest, IsTheLeastPromise) {
  Horizon horizon = Two();

  ASSERT_TRUE(horizon.Keep(1, {.lower_bound = {70}}).has_value());
  EXPECT_EQ(horizon.Safe(), SimTime{0});
  ASSERT_TRUE(horizon.Keep(2, {.lower_bound = {50}}).has_value());

  EXPECT_EQ(horizon.Safe(), SimTime{50});
}

TEST(HorizonTest, AnUnprocessedMessageHoldsItAtItsEffect) {
  Horizon horizon = Two();
  ASSERT_TRUE(horizon.Keep(1, {.lower_bound = SimTime::Max()}).has_value());
  ASSERT_TRUE(horizon.Keep(2, {.lower_bound = SimTime::Max()}).has_value());

  horizon.Sent(1, {40});
  horizon.Sent(1, {30});
  EXPECT_EQ(horizon.Safe(), SimTime{30});
  ASSERT_TRUE(horizon.Keep(1, {.lower_bound = {35}, .processed = 1}).has_value());
  EXPECT_EQ(horizon.Safe(), SimTime{30});
  ASSERT_TRUE(horizon.Keep(1, {.lower_bound = {35}, .processed = 2}).has_value());

  EXPECT_EQ(horizon.Safe(), SimTime{35});
}

TEST(HorizonTest, ADisconnectedSessionHoldsNothing) {
  Horizon horizon = Two();
  ASSERT_TRUE(horizon.Keep(2, {.lower_bound = {50}}).has_value());

  horizon.Disconnect(1);

  EXPECT_EQ(horizon.Safe(), SimTime{50});
  horizon.Disconnect(2);
  EXPECT_EQ(horizon.Safe(), SimTime::Max());
}

TEST(HorizonTest, RefusesAPromiseAboutMessagesNeverSent) {
  Horizon horizon = Two();

  const auto kept = horizon.Keep(1, {.lower_bound = {70}, .processed = 3});

  ASSERT_FALSE(kept.has_value());
  EXPECT_EQ(kept.error().message, "horizon claims 3 processed messages, but only 0 were sent");
}

TEST(HorizonTest, QuiescenceNeedsEveryoneAndAllowsARelease) {
  Horizon horizon = Two();
  ASSERT_TRUE(horizon.Keep(1, {.lower_bound = {10}, .quiescent = true}).has_value());
  EXPECT_FALSE(horizon.AllQuiescent());
  ASSERT_TRUE(horizon.Keep(2, {.lower_bound = {20}, .quiescent = true}).has_value());
  EXPECT_TRUE(horizon.AllQuiescent());

  horizon.Release({30});

  EXPECT_EQ(horizon.Safe(), SimTime{30});
  EXPECT_TRUE(horizon.AllQuiescent());
  horizon.EndQuiescence();
  EXPECT_FALSE(horizon.AllQuiescent());
}

TEST(HorizonTest, QuiescenceNeedsEveryMessageProcessed) {
  Horizon horizon = Two();
  for (SessionId session : {1, 2}) {
    ASSERT_TRUE(horizon.Keep(session, {.lower_bound = {10}, .quiescent = true}).has_value());
  }

  horizon.Sent(1, {20});

  EXPECT_FALSE(horizon.AllQuiescent());
}

TEST(HorizonTest, AnswersThoseWhoWait) {
  Horizon horizon = Two();
  ASSERT_TRUE(horizon.Keep(1, {.lower_bound = {10}, .wanted = SimTime{10}}).has_value());
  ASSERT_TRUE(horizon.Keep(2, {.lower_bound = {20}, .wanted = SimTime{20}}).has_value());

  EXPECT_EQ(horizon.EarliestWanted(), SimTime{10});
  EXPECT_THAT(horizon.TakeWanted(horizon.Safe()), ElementsAre(Horizon::Wait{1, {10}}));
  EXPECT_EQ(horizon.EarliestWanted(), SimTime{20});
}

}  // namespace
}  // namespace eidolon::network::horizon
