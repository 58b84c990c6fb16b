#include "services/contract/collective/values.h"

#include <gtest/gtest.h>

namespace eidolon::collective {
namespace {

constexpr std::uint32_t kInt8 = 0, kUint8 = 1, kInt32 = 2;  // ncclDataType_t.

TEST(ValuesTest, BytesThatMayBeObjectsCarryMoreThanNumbersAndThanSums) {
  EXPECT_EQ(ValueBytesMax(/*reduces=*/false, kInt8), kValueBytesLimit);
  EXPECT_EQ(ValueBytesMax(/*reduces=*/false, kUint8), kValueBytesLimit);
  EXPECT_EQ(ValueBytesMax(/*reduces=*/true, kUint8), 64u << 10);
  EXPECT_EQ(ValueBytesMax(/*reduces=*/false, kInt32), 64u << 10);
}

}  // namespace
}  // namespace eidolon::collective
