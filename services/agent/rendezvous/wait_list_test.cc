#include "services/agent/rendezvous/wait_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::agent::rendezvous {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(WaitListTest, WaitsEndWithTheLastKey) {
  WaitList waits;
  waits.Begin(1, {.keys = {"a", "b"}});
  waits.Begin(2, {.keys = {"b"}});
  waits.Begin(3, {.keys = {"b"}});

  EXPECT_THAT(waits.Arrive("b"), ElementsAre(2, 3));
  EXPECT_THAT(waits.Arrive("b"), IsEmpty());
  EXPECT_THAT(waits.Arrive("a"), ElementsAre(1));
  EXPECT_THAT(waits.all(), IsEmpty());
}

TEST(WaitListTest, WhoIsCancelledIsNotTold) {
  WaitList waits;
  waits.Begin(1, {.keys = {"a", "b"}});
  waits.Begin(2, {.keys = {"b"}});
  waits.Begin(2, {.keys = {"c"}});
  waits.Cancel(1);
  waits.Cancel(1);

  EXPECT_THAT(waits.Arrive("a"), IsEmpty());
  EXPECT_THAT(waits.Arrive("b"), IsEmpty());
  EXPECT_THAT(waits.Arrive("c"), ElementsAre(2));
}

TEST(WaitListTest, AMemberOfAQueueIsForOne) {
  WaitList waits;
  waits.Begin(1, {.keys = {"other", "q"}});
  waits.Begin(2, {.keys = {"q"}});
  waits.Begin(3, {.keys = {"q"}});

  EXPECT_EQ(waits.ArriveForOne("q"), 2);
  EXPECT_EQ(waits.ArriveForOne("q"), 3);
  EXPECT_EQ(waits.ArriveForOne("q"), std::nullopt);
  EXPECT_EQ(waits.ArriveForOne("q"), std::nullopt);
  EXPECT_THAT(waits.Arrive("other"), ElementsAre(1));
}

}  // namespace
}  // namespace eidolon::agent::rendezvous
