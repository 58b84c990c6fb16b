// Numbers and places that the ring, the wire and profiles hold: none of them may change.
#include <gtest/gtest.h>

#include <cstddef>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/epilogue.h"
#include "services/contract/workload/grouped_gemm.h"
#include "services/contract/workload/pointer_tag.h"

namespace eidolon::workload {
namespace {

TEST(WorkTest, BlankedPointersKeepTheirAlignmentAndNothingElse) {
  EXPECT_TRUE(IsBlankedPointer(kPointerTag));
  EXPECT_TRUE(IsBlankedPointer(kPointerTag | 0xf0));
  EXPECT_FALSE(IsBlankedPointer(kPointerTag | 0x100));
  EXPECT_FALSE(IsBlankedPointer(0xf0));
}

TEST(WorkTest, GroupedGemmsStandWhereProfilesHaveThem) {
  EXPECT_EQ(offsetof(GroupedGemm, m), 8u);
  EXPECT_EQ(offsetof(GroupedGemm, k), 24u);
  EXPECT_EQ(offsetof(GroupedGemm, groups), 32u);
  EXPECT_EQ(offsetof(GroupedGemm, ragged), 36u);
}

TEST(WorkTest, NumbersStay) {
  EXPECT_EQ(static_cast<int>(CopyKind::kHostToDevice), 0);
  EXPECT_EQ(static_cast<int>(CopyKind::kMemset), 5);
  EXPECT_EQ(static_cast<int>(Epilogue::kBias), 1);
  EXPECT_EQ(static_cast<int>(Epilogue::kOther), 13);
  EXPECT_EQ(static_cast<std::uint32_t>(Epilogue::kDReluBgrad), kEpilogues - 1);
}

}  // namespace
}  // namespace eidolon::workload
