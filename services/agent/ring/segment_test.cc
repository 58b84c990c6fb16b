#include "services/agent/ring/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "services/contract/ring/check.h"

namespace eidolon::agent::ring {
namespace {

class SegmentTest : public ::testing::Test {
 protected:
  Segment segment_ = *Segment::Create({.devices = {{}}}, 1, 5);
};

// A process that cut it would end the agent, which reads there, with SIGBUS.
TEST_F(SegmentTest, NobodyCanCutOrEnlargeIt) {
  const int other =
      open(("/proc/self/fd/" + std::to_string(segment_.descriptor())).c_str(), O_RDWR);
  ASSERT_GE(other, 0);
  for (const int file : {segment_.descriptor(), other}) {
    EXPECT_NE(ftruncate(file, 0), 0);
    EXPECT_NE(ftruncate(file, 2 * wire::kSegmentBytes), 0);
  }
  EXPECT_LT(open(("/proc/self/fd/" + std::to_string(other)).c_str(), O_RDWR | O_TRUNC), 0);
  close(other);

  struct stat status {};
  ASSERT_EQ(fstat(segment_.descriptor(), &status), 0);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), wire::kSegmentBytes);
  EXPECT_EQ(segment_.clock_ps(), 5u);
}

TEST_F(SegmentTest, TheFloorDependsOnNothingThatStandsThere) {
  auto& cursors = *wire::CursorsOf(segment_.base());
  segment_.RaiseFloor(100);
  cursors.floor_ps.value.store(std::uint64_t{1} << 50);
  segment_.RaiseFloor(90);
  EXPECT_EQ(cursors.floor_ps.value.load(), std::uint64_t{1} << 50);  // The shim finds it.
  EXPECT_EQ(cursors.floor_copy_ps.value.load(), 100u);

  segment_.RaiseFloor(200);

  EXPECT_EQ(cursors.floor_ps.value.load(), 200u);
}

TEST_F(SegmentTest, AnAnswerCarriesItsCheck) {
  const std::array<std::byte, 3> payload{std::byte{1}, std::byte{2}, std::byte{3}};
  segment_.Answer(9, {.value_ps = 44, .extra = 2, .payload = payload});

  const wire::ReplySlot& slot = wire::RepliesOf(segment_.base())[9];
  EXPECT_EQ(slot.check, wire::ReplyCheck(9, slot, wire::PayloadOf(segment_.base(), 9)));
}

TEST_F(SegmentTest, HasTheMemoryOfItsRingFromTheStartAndOfPayloadsWhenTheyCome) {
  constexpr std::size_t kBlockBytes = 512;
  struct stat status {};

  ASSERT_EQ(fstat(segment_.descriptor(), &status), 0);

  const auto bytes = static_cast<std::size_t>(status.st_blocks) * kBlockBytes;
  EXPECT_EQ(bytes, wire::kPayloadsOffset + wire::kRingBytes);
}

}  // namespace
}  // namespace eidolon::agent::ring
