#include "services/contract/ring/layout.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "services/contract/ring/record.h"
#include "services/contract/ring/work.h"

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

TEST(LayoutTest, WorkStructsHaveNoHiddenPadding) {
  EXPECT_TRUE(std::has_unique_object_representations_v<GemmWork>);
  EXPECT_TRUE(std::has_unique_object_representations_v<KernelWork>);
  EXPECT_TRUE(std::has_unique_object_representations_v<CopyWork>);
  EXPECT_TRUE(std::has_unique_object_representations_v<DnnTensor>);
  EXPECT_TRUE(std::has_unique_object_representations_v<DnnOperation>);
  EXPECT_TRUE(std::has_unique_object_representations_v<LibraryWork>);
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
