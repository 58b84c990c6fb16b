#include "services/agent/device/contention.h"

#include <gtest/gtest.h>

#include <algorithm>

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
    return contention_
        .Place({.lane = lane,
                .resource = resource,
                .share = share,
                .start = Us(start_us),
                .alone = UsLong(us)})
        .span;
  }
  // Returns by how much the other lane is delayed.
  Duration Hold(int lane, std::int64_t start_us, std::int64_t us, std::uint32_t share) {
    const auto delayed = contention_.Hold(
        {.lane = lane, .share = share, .start = Us(start_us), .alone = UsLong(us)});
    EXPECT_LE(delayed.size(), 1u);
    return delayed.empty() ? Duration{} : delayed.front().by;
  }

  Contention contention_{UsLong(1)};
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

TEST_F(ContentionTest, ACollectiveDelaysAKernelThatWasIssuedBeforeIt) {
  Place(first_, 0, 20, 1024);

  // From 10 on at three quarters of the speed; 10 us of work take 13.3, of which 8 pass so.
  EXPECT_EQ(Hold(second_, 10, 8, 256), UsLong(2));
  EXPECT_EQ(Place(second_, 18, 4, 1024), UsLong(8)) << "the kernel now ends at 22";
}

TEST_F(ContentionTest, AKernelThatEndsFirstLosesOnlyWhatIsLeftOfIt) {
  Place(first_, 0, 20, 1024);

  EXPECT_EQ(Hold(second_, 14, 100, 512), UsLong(6)) << "6 us at half the speed";
}

TEST_F(ContentionTest, ADelayMovesTheKernelsBehindAndIsLostInAWait) {
  Place(first_, 0, 10, 1024);
  Place(first_, 11, 10, 1024);  // Behind it after the gap.
  Place(first_, 25, 10, 1024);  // 3 us later than it could.

  // 4 us lost by the first; the second begins at 15; what the third could start after is 25 + 1.
  EXPECT_EQ(Hold(second_, 2, 8, 512), UsLong(1));
}

TEST_F(ContentionTest, CollectivesDoNotDelayEachOther) {
  Hold(first_, 0, 20, 256);

  EXPECT_EQ(Hold(second_, 10, 8, 256), Duration{});
}

TEST_F(ContentionTest, ACollectiveBehindAKernelKeepsItsStart) {
  Place(first_, 0, 10, 1024);
  Hold(first_, 11, 10, 256);

  EXPECT_EQ(Hold(second_, 2, 8, 512), Duration{}) << "its start has been told";
}

TEST_F(ContentionTest, ASmallKernelThatWasThereFirstLosesNothing) {
  Place(first_, 0, 20, 512);

  EXPECT_EQ(Hold(second_, 10, 8, 256), Duration{});
}

TEST_F(ContentionTest, TheLaterKernelGetsWhatTheEarlierLeaves) {
  EXPECT_EQ(Place(first_, 0, 10, 1024), UsLong(10));

  EXPECT_EQ(Place(second_, 4, 3, 1024), UsLong(9)) << "waits 6 us, then runs 3";
}

class PriorityTest : public ContentionTest {
 protected:
  Contention::Placed PlaceUrgent(std::int64_t start_us, std::int64_t us, std::uint32_t share) {
    return contention_.Place(
        {.lane = urgent_, .share = share, .start = Us(start_us), .alone = UsLong(us)});
  }

  const int urgent_ = contention_.AddLane(Contention::Delay::kPossible, /*priority=*/-1);
};

TEST_F(PriorityTest, WorkOfAHigherPriorityTakesThePlaceOfWhatWasIssuedBefore) {
  Place(first_, 0, 10, 1024);
  Place(first_, 11, 10, 1024);

  const auto [span, delayed] = PlaceUrgent(5, 3, 1024);

  EXPECT_EQ(span, UsLong(3));
  ASSERT_EQ(delayed.size(), 1u);
  EXPECT_EQ(delayed[0].lane, first_);
  EXPECT_EQ(delayed[0].by, UsLong(3));
  EXPECT_EQ(delayed[0].end, Us(21));
  EXPECT_EQ(Place(second_, 23, 2, 1024), UsLong(3)) << "the other stream now ends at 24";
}

TEST_F(PriorityTest, WorkOfALowerPriorityGetsWhatIsLeft) {
  PlaceUrgent(0, 10, 1024);

  EXPECT_EQ(Place(first_, 4, 3, 1024), UsLong(9));
}

TEST_F(PriorityTest, ASmallKernelOfAHigherPriorityDelaysOnlyByWhatItTakes) {
  Place(first_, 0, 20, 1024);

  const auto [span, delayed] = PlaceUrgent(4, 8, 512);

  EXPECT_EQ(span, UsLong(8));
  ASSERT_EQ(delayed.size(), 1u);
  EXPECT_EQ(delayed[0].by, UsLong(4)) << "8 us at half the speed";
}

TEST_F(PriorityTest, CollectivesAndGraphsKeepTheirShare) {
  Hold(first_, 0, 10, 512);
  EXPECT_EQ(PlaceUrgent(0, 5, 1024).span, UsLong(10)) << "half of the GPU is the collective's";

  const int graph = contention_.AddLane(Contention::Delay::kNever);
  Place(graph, 20, 10, 1024);
  const auto [span, delayed] = PlaceUrgent(25, 3, 1024);
  EXPECT_EQ(span, UsLong(8));
  EXPECT_TRUE(delayed.empty());
}

TEST_F(PriorityTest, CopiesKnowNoPriority) {
  Place(first_, 0, 10, 1024, Resource::kCopyIn);

  const auto placed = contention_.Place(
      {.lane = urgent_, .resource = Resource::kCopyIn, .start = Us(2), .alone = UsLong(5)});
  EXPECT_EQ(placed.span, UsLong(13));
  EXPECT_TRUE(placed.delayed.empty());
}

// Four streams take turns: together as long as one behind the other.
TEST_F(ContentionTest, KernelsThatFillTheGpuGainNothingByStreams) {
  const int lanes[] = {first_, second_, contention_.AddLane(), contention_.AddLane()};
  SimTime ends[4];
  for (int kernel = 0; kernel < 8; ++kernel) {
    SimTime& end = ends[kernel % 4];
    end += contention_
               .Place({.lane = lanes[kernel % 4],
                       .share = kWholeShare,
                       .start = end,
                       .alone = UsLong(10)})
               .span;
  }

  EXPECT_EQ(std::max({ends[0], ends[1], ends[2], ends[3]}), Us(80));
}

// Each fits beside the other by multiprocessors, but both want three quarters of the bandwidth.
TEST_F(ContentionTest, KernelsSideBySideShareTheMemory) {
  const auto place = [&](int lane, std::uint32_t memory) {
    return contention_
        .Place({.lane = lane, .share = 512, .memory = memory, .start = Us(0), .alone = UsLong(12)})
        .span;
  };

  EXPECT_EQ(place(first_, 768), UsLong(12));
  // A third of its speed for 12 us does 4 us of its work, the other 8 us run freely.
  EXPECT_EQ(place(second_, 768), UsLong(20));
}

TEST_F(ContentionTest, WhatMemoryLeavesIsEnoughForAKernelThatMultiprocessorsBound) {
  contention_.Place(
      {.lane = first_, .share = 512, .memory = 768, .start = Us(0), .alone = UsLong(12)});

  EXPECT_EQ(
      contention_
          .Place(
              {.lane = second_, .share = 512, .memory = 256, .start = Us(0), .alone = UsLong(12)})
          .span,
      UsLong(12));
}

// Collectives of a quarter of the multiprocessors and three eighths of the memory's bandwidth.
class CollectiveMemoryTest : public ContentionTest {
 protected:
  Duration PlaceBound(std::uint32_t memory) {
    return contention_
        .Place({.lane = first_, .memory = memory, .start = Us(0), .alone = UsLong(20)})
        .span;
  }
  Duration HoldAt(std::int64_t start_us, std::int64_t us) {
    const auto delayed = contention_.Hold(
        {.lane = second_, .share = 256, .memory = 384, .start = Us(start_us), .alone = UsLong(us)});
    return delayed.empty() ? Duration{} : delayed.front().by;
  }
};

TEST_F(CollectiveMemoryTest, AKernelThatMemoryBoundsGetsTheBandwidthThatACollectiveLeaves) {
  HoldAt(0, 16);

  // 16 us at five eighths of the speed do 10 us of the work; the other 10 us run freely.
  EXPECT_EQ(PlaceBound(1024), UsLong(26));
}

TEST_F(CollectiveMemoryTest, AKernelThatNeedsLittleMemoryLosesMultiprocessorsAlone) {
  HoldAt(0, 16);

  EXPECT_EQ(PlaceBound(512), UsLong(24)) << "three quarters, of which 640 of 1024 are no less";
}

TEST_F(CollectiveMemoryTest, ACollectiveTakesItsBytesAlsoFromWhatWasIssuedBefore) {
  PlaceBound(1024);

  EXPECT_EQ(HoldAt(4, 8), UsLong(3)) << "8 us at five eighths of the speed";
  EXPECT_EQ(HoldAt(18, 30), UsLong(3)) << "of 5 us that are left";
}

TEST_F(CollectiveMemoryTest, APriorityOfBlocksIsNoneOfBytes) {
  const int urgent = contention_.AddLane(Contention::Delay::kPossible, /*priority=*/-1);
  PlaceBound(1024);

  const auto placed = contention_.Place(
      {.lane = urgent, .share = 256, .memory = 1024, .start = Us(4), .alone = UsLong(8)});

  EXPECT_EQ(placed.span, UsLong(8));
  ASSERT_EQ(placed.delayed.size(), 1u);
  EXPECT_EQ(placed.delayed[0].by, UsLong(2)) << "8 us without a quarter of the multiprocessors";
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
