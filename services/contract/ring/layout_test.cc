#include "services/contract/ring/layout.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "services/contract/ring/record.h"

namespace eidolon::ring {
namespace {

TEST(LayoutTest, RecordsAreMultiplesOfEightBytesSoThatTheNextIsAligned) {
  EXPECT_EQ(sizeof(RecordHeader), 24u);
  EXPECT_EQ(sizeof(LaunchRecord), 32u);
  EXPECT_EQ(sizeof(WaitRecord) % 8, 0u);
  EXPECT_EQ(sizeof(CommunicationOp) % 8, 0u);
  EXPECT_EQ(sizeof(CommunicatorInit) % 8, 0u);
  EXPECT_EQ(sizeof(CommunicatorSplit) % 8, 0u);
}

TEST(LayoutTest, ReplySlotsAndPayloadsDoNotOverlap) {
  EXPECT_LE(kRepliesOffset + sizeof(ReplySlot) * kReplySlots, kPayloadsOffset);
  EXPECT_EQ(kRingOffset % 4096, 0u);
}

TEST(LayoutTest, ClocksHaveACacheLineEach) {
  EXPECT_EQ(offsetof(Cursors, clock_ps) % 64, 0u);
  EXPECT_EQ(offsetof(Cursors, floor_ps) - offsetof(Cursors, clock_ps), 64u);
}

}  // namespace
}  // namespace eidolon::ring
