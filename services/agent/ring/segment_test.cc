#include "services/agent/ring/segment.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace eidolon::agent::ring {
namespace {

TEST(SegmentTest, HasTheMemoryOfItsRingFromTheStartAndOfPayloadsWhenTheyCome) {
  constexpr std::size_t kBlockBytes = 512;
  const auto segment = Segment::Create({}, 1, 0);
  ASSERT_TRUE(segment.has_value());
  struct stat status {};

  ASSERT_EQ(fstat(segment->descriptor(), &status), 0);

  const auto bytes = static_cast<std::size_t>(status.st_blocks) * kBlockBytes;
  EXPECT_EQ(bytes, wire::kPayloadsOffset + wire::kRingBytes);
}

}  // namespace
}  // namespace eidolon::agent::ring
