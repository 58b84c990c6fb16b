#include "services/agent/timeline/lanes.h"

#include <gtest/gtest.h>

namespace eidolon::agent::timeline {
namespace {

using base::SimTime;

TEST(LanesTest, SpansThatFollowEachOtherShareALane) {
  Lanes lanes(Nesting::kNone);

  EXPECT_EQ(lanes.Place(SimTime{0}, SimTime{10}), 0u);
  EXPECT_EQ(lanes.Place(SimTime{10}, SimTime{20}), 0u);
  EXPECT_EQ(lanes.count(), 1u);
}

TEST(LanesTest, SpansThatOverlapGetLanesOfTheirOwn) {
  Lanes lanes(Nesting::kNone);

  EXPECT_EQ(lanes.Place(SimTime{0}, SimTime{10}), 0u);
  EXPECT_EQ(lanes.Place(SimTime{2}, SimTime{5}), 1u);
  EXPECT_EQ(lanes.Place(SimTime{4}, SimTime{6}), 2u);
  EXPECT_EQ(lanes.Place(SimTime{5}, SimTime{7}), 1u);
  EXPECT_EQ(lanes.Place(SimTime{10}, SimTime{11}), 0u);
}

TEST(LanesTest, NestedSpansShareALaneWhereNestingIsAllowed) {
  Lanes lanes(Nesting::kAllowed);

  EXPECT_EQ(lanes.Place(SimTime{0}, SimTime{10}), 0u);
  EXPECT_EQ(lanes.Place(SimTime{2}, SimTime{5}), 0u);
  EXPECT_EQ(lanes.Place(SimTime{4}, SimTime{6}), 1u);   // Neither within the second nor behind it.
  EXPECT_EQ(lanes.Place(SimTime{9}, SimTime{12}), 1u);  // Reaches out of the first.
}

}  // namespace
}  // namespace eidolon::agent::timeline
