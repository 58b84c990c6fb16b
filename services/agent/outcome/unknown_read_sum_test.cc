#include "services/agent/outcome/unknown_read_sum.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::agent::outcome {
namespace {

session::UnknownReads Reads(const std::string& writer, std::uint64_t reads,
                            std::uint32_t declaration = 0) {
  return {.source = {.writer = writer, .line = "train.py:4", .given = "zero"},
          .declaration = declaration,
          .reads = reads,
          .bytes = 4 * reads};
}

TEST(UnknownReadSumTest, ReadsOfOneSourceAreAddedUpOverProcesses) {
  UnknownReadSum sum;
  session::SessionUsage one;
  one.unknown_reads = 12;
  one.unknown_sources = {{1, Reads("norm", 2)}, {2, Reads("sum", 9)}};
  session::SessionUsage other;
  other.unknown_reads = 10;
  other.unknown_sources = {{1, Reads("norm", 10)}};
  sum.Add(one);
  sum.Add(other);

  controller::v1::Usage usage;
  sum.Fill(&usage);

  EXPECT_EQ(usage.unknown_reads(), 22u);
  ASSERT_EQ(usage.unknown_read_sources_size(), 2);
  EXPECT_EQ(usage.unknown_read_sources(0).writer(), "norm");
  EXPECT_EQ(usage.unknown_read_sources(0).reads(), 12u);
  EXPECT_EQ(usage.unknown_read_sources(0).bytes(), 48u);
  EXPECT_EQ(usage.unknown_read_sources(0).line(), "train.py:4");
  EXPECT_EQ(usage.unknown_read_sources(1).reads(), 9u);
}

TEST(UnknownReadSumTest, ManySourcesAreCutToTheLargestAndDeclarationsAreAllNamed) {
  UnknownReadSum sum;
  session::SessionUsage used;
  for (std::uint32_t i = 1; i <= 200; ++i) {
    used.unknown_sources[i] = Reads("kernel" + std::to_string(i), i, i % 2 == 0 ? i : 0);
  }
  sum.Add(used);

  controller::v1::Usage usage;
  sum.Fill(&usage);

  ASSERT_EQ(usage.unknown_read_sources_size(), 64);
  EXPECT_EQ(usage.unknown_read_sources(0).reads(), 200u);
  EXPECT_EQ(usage.used_declarations_size(), 100);
  EXPECT_EQ(usage.used_declarations(0), 2u);
}

}  // namespace
}  // namespace eidolon::agent::outcome
