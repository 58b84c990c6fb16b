#include "services/contract/critical_path/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "services/base/text.h"
#include "services/contract/critical_path/builder_test.h"
#include "services/contract/critical_path/summary.h"

namespace eidolon::critical_path {
namespace {

using base::StrCat;
using ::testing::ElementsAre;

// Returns the walk from the beginning: "rank begin-end kind name". Checks that the segments are the
// iteration.
std::vector<std::string> Walked(const std::vector<RankTrace>& traces) {
  const Path path = FindPath(traces);
  std::vector<std::string> lines;
  base::SimTime time = path.finish;
  for (const Segment& segment : path.segments) {
    EXPECT_EQ(segment.end, time);
    EXPECT_LT(segment.begin, segment.end);
    time = segment.begin;
    lines.push_back(StrCat("rank ", segment.rank, " ", segment.begin.ps, "-", segment.end.ps, " ",
                           Name(segment.kind), ": ", segment.name));
  }
  EXPECT_EQ(time, path.start);
  std::ranges::reverse(lines);
  return lines;
}

TEST(WalkTest, OperationsOfAStreamLeadToEachOtherAndTheFirstToItsCall) {
  RankBuilder rank(0, {0, 60});
  rank.Call({0, 4});
  const std::uint32_t first = rank.Kernel({7, 30});
  rank.Call({4, 6});
  rank.Kernel({32, 60}, first);

  EXPECT_THAT(Walked({rank.trace()}),
              ElementsAre("rank 0 0-4 host: cudaLaunchKernel", "rank 0 4-7 launches: launch",
                          "rank 0 7-30 kernels: gemm", "rank 0 30-32 launches: launch gap",
                          "rank 0 32-60 kernels: gemm"));
}

TEST(WalkTest, ALateHostLeadsToTheWaitBeforeItAndThatToWhatItWaitedFor) {
  RankBuilder rank(0, {0, 90});
  rank.Call({0, 4});
  rank.Copy({7, 30});
  rank.Wait({5, 30});
  rank.Call({30, 50});
  rank.Kernel({53, 90});

  EXPECT_THAT(Walked({rank.trace()}),
              ElementsAre("rank 0 0-4 host: cudaLaunchKernel", "rank 0 4-7 launches: launch",
                          "rank 0 7-30 copies: memcpy", "rank 0 30-50 host: cudaLaunchKernel",
                          "rank 0 50-53 launches: launch", "rank 0 53-90 kernels: gemm"));
}

TEST(WalkTest, ACollectiveLeadsToTheRankThatCameLast) {
  RankBuilder early(0, {0, 100});
  early.Call({0, 4});
  early.Kernel({7, 20});
  early.Collective({22, {60, 100}}, 5, 1);
  RankBuilder late(1, {0, 100});
  late.Call({0, 10});
  late.Kernel({13, 58});
  late.Collective({60, {60, 100}}, 5, 1);

  EXPECT_THAT(Walked({early.trace(), late.trace()}),
              ElementsAre("rank 1 0-10 host: cudaLaunchKernel", "rank 1 10-13 launches: launch",
                          "rank 1 13-58 kernels: gemm", "rank 1 58-60 launches: launch gap",
                          "rank 0 60-100 communication: ncclAllReduce"));
}

TEST(WalkTest, ACollectiveThatWaitsForARankWithoutATraceSaysSo) {
  RankBuilder rank(0, {0, 100});
  rank.Call({0, 4});
  rank.Collective({7, {60, 100}}, 5);

  EXPECT_THAT(Walked({rank.trace()}),
              ElementsAre("rank 0 0-4 host: cudaLaunchKernel", "rank 0 4-7 launches: launch",
                          "rank 0 7-60 unknown: waits for ranks that are not shown",
                          "rank 0 60-100 communication: ncclAllReduce"));
}

TEST(WalkTest, AReceiveLeadsToItsSend) {
  RankBuilder receiver(0, {0, 100});
  receiver.Call({0, 4});
  receiver.Group({7, {60, 100}}, {{.peer = 1, .is_send = false}});
  RankBuilder sender(1, {0, 100});
  sender.Call({0, 57});
  sender.Group({60, {60, 100}}, {{.peer = 0, .is_send = true}});

  EXPECT_THAT(Walked({receiver.trace(), sender.trace()}),
              ElementsAre("rank 1 0-57 host: cudaLaunchKernel", "rank 1 57-60 launches: launch",
                          "rank 0 60-100 communication: ncclSend, ncclRecv"));
}

TEST(WalkTest, AnIterationBeginsWithItsLastRankAndEndsWithIt) {
  RankBuilder a(0, {10, 80});
  a.Call({0, 17});
  a.Kernel({20, 80});
  RankBuilder b(1, {15, 70});
  b.Call({0, 17});
  b.Kernel({20, 70});

  EXPECT_THAT(Walked({a.trace(), b.trace()}),
              ElementsAre("rank 0 15-17 host: cudaLaunchKernel", "rank 0 17-20 launches: launch",
                          "rank 0 20-80 kernels: gemm"));
}

TEST(WalkTest, WhatAStreamLostToNcclIsADelay) {
  RankBuilder rank(0, {0, 90});
  rank.Call({0, 4});
  const std::uint32_t first = rank.Kernel({7, 30});
  rank.Call({4, 6});
  rank.Kernel({42, 90}, first);

  const auto lines = Walked({rank.trace()});

  EXPECT_THAT(lines, ::testing::Contains("rank 0 30-40 delays: beside NCCL"));
  EXPECT_THAT(lines, ::testing::Contains("rank 0 40-42 launches: launch gap"));
}

TEST(WalkTest, AHostThatEndsTheIterationIsFollowedThroughSleepsAndWaits) {
  RankBuilder rank(0, {0, 90});
  rank.Call({0, 4});
  rank.Kernel({7, 30});
  rank.Wait({5, 30});
  rank.Sleep({40, 70});

  EXPECT_THAT(
      Walked({rank.trace()}),
      ElementsAre("rank 0 0-4 host: cudaLaunchKernel", "rank 0 4-7 launches: launch",
                  "rank 0 7-30 kernels: gemm", "rank 0 30-40 host: sleep",
                  "rank 0 40-70 sleeps: sleep", "rank 0 70-90 host: until the iteration's end"));
}

TEST(WalkTest, TheCallsOfAnotherThreadDoNotHideAWait) {
  RankBuilder rank(0, {0, 90});
  rank.Call({0, 4});
  rank.Kernel({7, 30});
  rank.Wait({5, 30});
  rank.Call({30, 80});  // Ends beside the next one.
  rank.Call({30, 50});
  rank.Kernel({53, 90});

  EXPECT_THAT(Walked({rank.trace()}), ::testing::Contains("rank 0 7-30 kernels: gemm"));
}

TEST(WalkTest, WhatTheTraceDoesNotTellIsUnknown) {
  RankBuilder left_out(0, {0, 90});
  left_out.Kernel({50, 90}, kLeftOut);
  RankBuilder without_call(0, {0, 90});
  without_call.Kernel({50, 90});
  RankBuilder without_host(0, {0, 90});
  without_host.Call({30, 47});
  without_host.Kernel({50, 90});

  EXPECT_THAT(Walked({left_out.trace()}),
              ElementsAre("rank 0 0-50 unknown: waits for an operation that is not shown",
                          "rank 0 50-90 kernels: gemm"));
  EXPECT_THAT(Walked({without_call.trace()}),
              ElementsAre("rank 0 0-50 unknown: waits for a call that is not shown",
                          "rank 0 50-90 kernels: gemm"));
  EXPECT_THAT(
      Walked({without_host.trace()}),
      ::testing::Contains("rank 0 0-30 unknown: host, before the first call that is shown"));
}

TEST(WalkTest, AnEndThatIsNotInTheTraceIsNotTakenForTheHosts) {
  RankBuilder rank(0, {0, 90});
  rank.Call({0, 4});
  rank.Kernel({7, 30});
  rank.trace().left_out = 1;

  EXPECT_THAT(Walked({rank.trace()}),
              ElementsAre("rank 0 0-4 host: cudaLaunchKernel", "rank 0 4-7 launches: launch",
                          "rank 0 7-30 kernels: gemm",
                          "rank 0 30-90 unknown: waits for an operation that is not shown"));
}

TEST(WalkTest, WorkBehindTheIterationBeforeLeadsToItsBeginning) {
  RankBuilder rank(0, {10, 90});
  rank.Call({0, 4});
  rank.Kernel({12, 90}, kEarlier);

  EXPECT_THAT(Walked({rank.trace()}),
              ElementsAre("rank 0 10-12 launches: launch gap", "rank 0 12-90 kernels: gemm"));
}

TEST(WalkTest, CollectivesWithoutDurationDoNotLetItGoInCircles) {
  RankBuilder a(0, {0, 20});
  a.trace().launch_gaps = {{0}};
  a.Call({0, 4});
  a.Collective({7, {9, 9}}, 1);
  a.Collective({9, {9, 9}}, 2, 1);
  a.Kernel({9, 20}, 2);
  RankBuilder b(1, {0, 9});
  b.trace().launch_gaps = {{0}};
  b.Call({0, 6});
  b.Collective({9, {9, 9}}, 1);
  b.Collective({9, {9, 9}}, 2, 1);

  EXPECT_THAT(Walked({a.trace(), b.trace()}),
              ElementsAre("rank 1 0-6 host: cudaLaunchKernel", "rank 1 6-9 launches: launch",
                          "rank 0 9-20 kernels: gemm"));
}

TEST(WalkTest, NothingIsFoundWithoutTraces) { EXPECT_TRUE(FindPath({}).segments.empty()); }

}  // namespace
}  // namespace eidolon::critical_path
