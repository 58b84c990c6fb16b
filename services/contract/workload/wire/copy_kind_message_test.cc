#include "services/contract/workload/wire/copy_kind_message.h"

#include <gtest/gtest.h>

namespace eidolon::workload::wire {
namespace {

TEST(CopyKindMessageTest, EveryKindComesBackAsItWasSent) {
  for (std::uint32_t i = 0; i <= static_cast<std::uint32_t>(CopyKind::kMemset); ++i) {
    const auto kind = static_cast<CopyKind>(i);
    EXPECT_EQ(FromMessage(ToMessage(kind)), kind) << i;
  }
  EXPECT_EQ(ToMessage(CopyKind::kUnspecified), timing::v1::COPY_KIND_UNSPECIFIED);
}

TEST(CopyKindMessageTest, UnknownKindsAreUnspecified) {
  EXPECT_EQ(FromMessage(timing::v1::COPY_KIND_UNSPECIFIED), CopyKind::kUnspecified);
  EXPECT_EQ(FromMessage(static_cast<timing::v1::CopyKind>(99)), CopyKind::kUnspecified);
}

}  // namespace
}  // namespace eidolon::workload::wire
