#include "services/agent/device/contention.h"

#include <gtest/gtest.h>

namespace eidolon::agent::device {
namespace {

using base::Duration;
using base::SimTime;

SimTime Us(std::int64_t us) { return {us * 1'000'000}; }
Duration UsLong(std::int64_t us) { return Duration::Microseconds(us); }

class ContentionTest : public ::testing::Test {
 protected:
  Duration Place(int lane, std::int64_t start_us, std::int64_t us, std::uint32_t share,
                 Resource resource = Resource::kMultiprocessors) {
    return contention_.Place({.lane = lane,
                              .resource = resource,
                              .share = share,
                              .start = Us(start_us),
                              .alone = UsLong(us)});
  }
  void Hold(int lane, std::int64_t start_us, std::int64_t us, std::uint32_t share) {
    contention_.Hold({.lane = lane, .share = share, .start = Us(start_us), .alone = UsLong(us)});
  }

  Contention contention_;
  const int first_ = contention_.AddLane();
  const int second_ = contention_.AddLane();
};

TEST_F(ContentionTest, LeavesWorkAloneThatDoesNotOverlap) {
  EXPECT_EQ(Place(first_, 0, 10, 1024), UsLong(10));
  EXPECT_EQ(Place(second_, 10, 10, 1024), UsLong(10));
}

TEST_F(ContentionTest, SlowsAKernelForThePartThatACollectiveRunsBesideIt) {
  Hold(first_, 0, 10, 256);

  // 10 us at three quarters of the speed do 7.5 us of the work; the other 12.5 us run freely.
  EXPECT_EQ(Place(second_, 0, 20, 1024), Duration::Nanoseconds(22'500));
}

TEST_F(ContentionTest, ASmallKernelFitsBesideACollective) {
  Hold(first_, 0, 10, 256);

  EXPECT_EQ(Place(second_, 0, 20, 768), UsLong(20));
}

TEST_F(ContentionTest, TheLaterKernelGetsWhatTheEarlierLeaves) {
  EXPECT_EQ(Place(first_, 0, 10, 1024), UsLong(10));

  EXPECT_EQ(Place(second_, 4, 3, 1024), UsLong(9)) << "waits 6 us, then runs 3";
}

TEST_F(ContentionTest, HalfAGpuEachRunSideBySide) {
  EXPECT_EQ(Place(first_, 0, 10, 512), UsLong(10));
  EXPECT_EQ(Place(second_, 0, 10, 512), UsLong(10));
}

TEST_F(ContentionTest, CopiesOfOneDirectionQueueAndOfTwoDirectionsDoNot) {
  EXPECT_EQ(Place(first_, 0, 10, 1024, Resource::kCopyIn), UsLong(10));

  EXPECT_EQ(Place(second_, 0, 10, 1024, Resource::kCopyOut), UsLong(10));
  EXPECT_EQ(Place(second_, 10, 5, 1024, Resource::kCopyIn), UsLong(5));
}

TEST_F(ContentionTest, ACopyBehindABusyEngineWaitsForIt) {
  Place(first_, 0, 10, 1024, Resource::kCopyIn);

  EXPECT_EQ(Place(second_, 2, 5, 1024, Resource::kCopyIn), UsLong(13));
}

TEST_F(ContentionTest, WorkWithoutALaneTakesNoPart) {
  Place(first_, 0, 10, 1024);

  EXPECT_EQ(Place(-1, 0, 10, 1024), UsLong(10));
}

}  // namespace
}  // namespace eidolon::agent::device
