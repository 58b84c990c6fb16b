#include "shim/program/time/wait_slots.h"

#include <gtest/gtest.h>

#include <array>

namespace eidolon::shim::time {
namespace {

using base::SimTime;

constexpr std::int64_t kStart = 5'000'000'000;
constexpr std::int64_t kLong = 10 * WaitSlots::kForgottenNs + 1;

TEST(WaitSlotsTest, TheEarliestWaitCountsWhileItIsRenewed) {
  WaitSlots slots;
  WaitSlots::Hold one, other;
  EXPECT_TRUE(slots.Keep(one, SimTime{900}, kStart));
  EXPECT_TRUE(slots.Keep(other, SimTime{700}, kStart));
  EXPECT_FALSE(slots.Keep(one, SimTime{900}, kStart + WaitSlots::kForgottenNs / 4)) << "no news";
  EXPECT_EQ(slots.Earliest(kStart + 10)->deadline, SimTime{700});
  EXPECT_EQ(slots.Earliest(kStart + 10)->since_ns, kStart);

  const std::int64_t later = kStart + WaitSlots::kForgottenNs + 1;
  EXPECT_EQ(slots.Earliest(later)->deadline, SimTime{900}) << "the other one was given up";
  EXPECT_TRUE(slots.Keep(other, SimTime{700}, later)) << "it came back";
  EXPECT_EQ(slots.Earliest(later)->deadline, SimTime{700});
  slots.Stop(other, later);
  slots.Stop(one, later);
  EXPECT_FALSE(slots.Earliest(later).has_value());
}

TEST(WaitSlotsTest, AFormerOwnerLeavesItsSlotAlone) {
  WaitSlots slots;
  WaitSlots::Hold former, next;
  ASSERT_TRUE(slots.Keep(former, SimTime{100}, kStart));
  const std::int64_t later = kStart + kLong;
  ASSERT_TRUE(slots.Keep(next, SimTime{300}, later));
  ASSERT_EQ(next.slot, former.slot) << "it was given up";

  EXPECT_TRUE(slots.Keep(former, SimTime{900}, later));

  EXPECT_NE(former.slot, next.slot);
  EXPECT_EQ(slots.Earliest(later)->deadline, SimTime{300});
  slots.Stop(former, later);
  EXPECT_EQ(slots.Earliest(later)->deadline, SimTime{300});
  slots.Stop(next, later);
  EXPECT_FALSE(slots.Earliest(later).has_value());
}

TEST(WaitSlotsTest, AFormerOwnerThatStopsLeavesItsSlotAlone) {
  WaitSlots slots;
  WaitSlots::Hold former, next;
  ASSERT_TRUE(slots.Keep(former, SimTime{100}, kStart));
  const std::int64_t later = kStart + kLong;
  ASSERT_TRUE(slots.Keep(next, SimTime{300}, later));

  slots.Stop(former, later);

  EXPECT_EQ(slots.Earliest(later)->deadline, SimTime{300});
}

TEST(WaitSlotsTest, WithoutAFreeSlotAWaitIsNotKept) {
  WaitSlots slots;
  std::array<WaitSlots::Hold, 64> holds;
  for (WaitSlots::Hold& hold : holds) ASSERT_TRUE(slots.Keep(hold, SimTime{100}, kStart));
  WaitSlots::Hold more;

  EXPECT_FALSE(slots.Keep(more, SimTime{50}, kStart));

  EXPECT_EQ(slots.Earliest(kStart)->deadline, SimTime{100});
  slots.Clear();
  EXPECT_TRUE(slots.Keep(more, SimTime{50}, kStart));
}

}  // namespace
}  // namespace eidolon::shim::time
