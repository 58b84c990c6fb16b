#include "shim/core/work_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/hash.h"

namespace eidolon::shim::core {
namespace {

std::span<const std::byte> BytesOf(const std::uint64_t& value) {
  return std::as_bytes(std::span(&value, 1));
}

TEST(WorkTableTest, FindsEachOfManyDefinitions) {
  WorkTable table;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    table.Insert(base::Hash64(&i, sizeof(i)), BytesOf(i), static_cast<std::uint32_t>(i + 1));
  }

  for (std::uint64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(table.Find(base::Hash64(&i, sizeof(i)), BytesOf(i)).id, i + 1);
  }
  const std::uint64_t absent = 5000;
  EXPECT_EQ(table.Find(base::Hash64(&absent, sizeof(absent)), BytesOf(absent)).id, 0u);
}

TEST(WorkTableTest, EqualHashesOfDifferentBytesAreKeptApart) {
  WorkTable table;
  const std::uint64_t one = 1;
  const std::uint64_t two = 2;
  table.Insert(99, BytesOf(one), 7);

  EXPECT_EQ(table.Find(99, BytesOf(two)).id, 0u);
  table.Insert(99, BytesOf(two), 8);
  EXPECT_EQ(table.Find(99, BytesOf(one)).id, 7u);
  EXPECT_EQ(table.Find(99, BytesOf(two)).id, 8u);
}

TEST(WorkTableTest, KeepsDefinitionsLargerThanABlock) {
  WorkTable table;
  const std::vector<std::byte> large(500'000, std::byte{3});
  table.Insert(1, large, 5);

  EXPECT_EQ(table.Find(1, large).id, 5u);
}

}  // namespace
}  // namespace eidolon::shim::core
