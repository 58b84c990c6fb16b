// Which jobs are folded, and what a folded job cannot do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "services/controller/job/resolve.h"

namespace eidolon::controller::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 64 ranks on 8 servers.
ResolvedJob Folded(FoldingSpec folding, std::uint64_t memory_bytes, Problems* problems) {
  ResolvedJob resolved{.servers = 8, .ranks_per_server = 8};
  resolved.spec.folding = std::move(folding);
  FoldJob(memory_bytes, {}, &resolved, problems);
  return resolved;
}

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;

TEST(FoldJobTest, FoldsWhereMemoryDoesNotHoldAllRanks) {
  Problems problems;
  EXPECT_FALSE(Folded({}, 64 * kGibibyte, &problems).fold.is_folded());
  EXPECT_FALSE(Folded({}, 0, &problems).fold.is_folded()) << "the memory is not known";

  const ResolvedJob folded = Folded({}, 16 * kGibibyte, &problems);

  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(folded.fold.live(), ElementsAre(0u, 63u));
  EXPECT_EQ(folded.live_ranks(), 2u);
  EXPECT_EQ(folded.ranks(), 64u);
  EXPECT_THAT(folded.AgentServers(), ElementsAre(0u, 7u));
}

TEST(FoldJobTest, TheJobHasTheLastWord) {
  Problems problems;
  EXPECT_FALSE(Folded({.mode = FoldingSpec::Mode::kOff}, kGibibyte, &problems).fold.is_folded());
  const ResolvedJob folded = Folded(
      {.mode = FoldingSpec::Mode::kRequired, .live_per_class = 1, .live = {9}}, 0, &problems);

  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(folded.fold.live(), ElementsAre(0u, 9u));
}

TEST(FoldJobTest, DelaysOfEachRanksOwnNeedAProcessForEachRank) {
  Problems problems;
  ResolvedJob job{.servers = 8, .ranks_per_server = 8};
  job.spec.jitter = JitterSpec{.per_second = 10, .length = base::Duration::Microseconds(5)};
  FoldJob(64 * kGibibyte, {}, &job, &problems);
  EXPECT_THAT(problems, IsEmpty()) << "all ranks run";

  FoldJob(16 * kGibibyte, {}, &job, &problems);

  EXPECT_FALSE(job.fold.is_folded());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/spec/hostModel/jitter");
  EXPECT_THAT(problems[0].detail, HasSubstr("folded"));
}

TEST(FoldJobTest, WhichRanksOfAReplayAreLiveDoesNotFollowFromMemory) {
  Problems problems;
  ResolvedJob job{.servers = 8, .ranks_per_server = 8};
  job.spec.replay.recording = "/a.eidrec";

  FoldJob(16 * kGibibyte, {}, &job, &problems);

  EXPECT_THAT(problems, IsEmpty());
  EXPECT_FALSE(job.fold.is_folded()) << "the recording has not been read";
}

TEST(FoldJobTest, AJobWhoseRanksAreAllLiveIsNotFolded) {
  Problems problems;
  ResolvedJob small{.servers = 1, .ranks_per_server = 2};
  small.spec.folding.mode = FoldingSpec::Mode::kRequired;
  FoldJob(0, {}, &small, &problems);

  EXPECT_FALSE(small.fold.is_folded());
  EXPECT_EQ(small.live_ranks(), 2u);
  EXPECT_THAT(small.AgentServers(), ElementsAre(0u));
}

TEST(FoldJobTest, EachClassThatWasFoundHasItsLiveRanks) {
  Problems problems;
  ResolvedJob resolved{.servers = 8, .ranks_per_server = 8};
  resolved.spec.folding = {.mode = FoldingSpec::Mode::kRequired, .live_per_class = 1};
  FoldJob(0, std::vector<folding::Dimension>{{.stride = 16, .size = 4}}, &resolved, &problems);

  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(resolved.fold.live(), ElementsAre(0u, 16u, 32u, 48u));
}

TEST(FoldJobTest, LiveRanksThatDoNotFitIntoMemoryAreReported) {
  Problems problems;
  ResolvedJob resolved{.servers = 8, .ranks_per_server = 8};
  FoldJob(kGibibyte, std::vector<folding::Dimension>{{.stride = 16, .size = 4}}, &resolved,
          &problems);

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].detail, HasSubstr("8 live ranks need some 4 GiB, and 1 GiB are free"));
}

TEST(FoldJobTest, LiveRanksOutsideOfTheJobAreReported) {
  Problems problems;
  Folded({.mode = FoldingSpec::Mode::kRequired, .live = {64}}, 0, &problems);

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/spec/folding");
  EXPECT_THAT(problems[0].detail, HasSubstr("rank 64 of a job with 64 ranks"));
}

TEST(FoldJobTest, ThisMachineKnowsItsMemory) {
  EXPECT_GT(AvailableMemory(), std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace eidolon::controller::job
