#include "services/agent/device/event_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/agent/device/parts_test.h"

namespace eidolon::agent::device {
namespace {

using ::testing::HasSubstr;

class EventTableTest : public PartsTest {};

TEST_F(EventTableTest, AnEventThatWasNeverRecordedIsComplete) {
  ASSERT_TRUE(events_.Create(5).has_value());

  EXPECT_EQ(events_.Get(5)->node, 0u);
  EXPECT_EQ(events_.Get(5)->at, Us(0));
}

TEST_F(EventTableTest, AnOpenRecordEndsWithItsWork) {
  ASSERT_TRUE(events_.Create(5).has_value());
  const Signal end = Issue(1);
  ASSERT_TRUE(events_.Record(5, end));
  ASSERT_EQ(events_.Find(5)->node, end.node);

  work_.ResolveCollective(1, Us(3), Us(30));

  EXPECT_EQ(events_.Find(5)->node, 0u);
  EXPECT_EQ(events_.Find(5)->at, Us(30));
}

TEST_F(EventTableTest, ARecordReplacesTheOneBefore) {
  ASSERT_TRUE(events_.Create(5).has_value());
  events_.Record(5, Issue(1));
  events_.Record(5, {.at = Us(7)});

  work_.ResolveCollective(1, Us(3), Us(30));

  EXPECT_EQ(events_.Get(5)->at, Us(7));
}

TEST_F(EventTableTest, AnEventMadeAnewDoesNotHearOfItsPredecessor) {
  ASSERT_TRUE(events_.Create(5).has_value());
  events_.Record(5, Issue(1));
  ASSERT_TRUE(events_.Destroy(5).has_value());
  ASSERT_TRUE(events_.Create(5).has_value());

  work_.ResolveCollective(1, Us(3), Us(30));

  EXPECT_EQ(events_.Get(5)->at, Us(0));
}

TEST_F(EventTableTest, NamesWhatIsUnknown) {
  EXPECT_EQ(events_.Find(5), nullptr);
  EXPECT_FALSE(events_.Record(5, {}));
  EXPECT_THAT(events_.Get(5).error().message, HasSubstr("event 5 does not exist"));
  EXPECT_THAT(events_.Destroy(5).error().message, HasSubstr("event 5 does not exist"));
  ASSERT_TRUE(events_.Create(5).has_value());
  EXPECT_THAT(events_.Create(5).error().message, HasSubstr("event 5 exists already"));
}

}  // namespace
}  // namespace eidolon::agent::device
