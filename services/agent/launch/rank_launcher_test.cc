#include "services/agent/launch/rank_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs `script` in a shell as each of the ranks 8 and 15 of 64, eight to a server.
int RunInShell(const std::string& script) {
  return RunRanks(LaunchArguments({.ranks = 64,
                                   .ranks_per_server = 8,
                                   .live = {8, 15},
                                   .preload = "",
                                   .command = {"/bin/sh", "-c", script}}));
}

TEST(RankLauncherTest, RanksFindWhatTorchrunWouldTellThem) {
  const RankLaunch launch = {
      .ranks = 64, .ranks_per_server = 8, .live = {15}, .preload = "shim.so"};
  const Variables variables = EnvironmentOf(launch, 15, true);

  EXPECT_THAT(
      variables,
      AllOf(Contains(Pair("RANK", "15")), Contains(Pair("LOCAL_RANK", "7")),
            Contains(Pair("WORLD_SIZE", "64")), Contains(Pair("LOCAL_WORLD_SIZE", "8")),
            Contains(Pair("GROUP_RANK", "1")), Contains(Pair("GROUP_WORLD_SIZE", "8")),
            Contains(Pair("TORCHELASTIC_USE_AGENT_STORE", "True")),
            Contains(Pair("OMP_NUM_THREADS", "1")), Contains(Pair("LD_PRELOAD", "shim.so"))));
  EXPECT_THAT(EnvironmentOf(launch, 15, false), Not(Contains(Pair("OMP_NUM_THREADS", "1"))));
}

TEST(RankLauncherTest, StartsEachLiveRankAndEndsWithThem) {
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(RunInShell(base::StrCat("echo $RANK of $WORLD_SIZE > ", folder, "/rank.$LOCAL_RANK")),
            0);

  EXPECT_EQ(ContentOf(folder + "/rank.0"), "8 of 64\n");
  EXPECT_EQ(ContentOf(folder + "/rank.7"), "15 of 64\n");
}

TEST(RankLauncherTest, ARankFindsItsPlaceInWordsAndVariables) {
  const std::string path = ::testing::TempDir() + "/words";
  EXPECT_EQ(RunRanks(LaunchArguments(
                {.ranks = 64,
                 .ranks_per_server = 8,
                 .live = {13},
                 .style = RankVariables::kSlurm,
                 .preload = "",
                 .environment = {{"MODE", "a=b"}},
                 .command = {"/bin/sh", "-c", base::StrCat("echo $0 $SLURM_LOCALID $MODE > ", path),
                             "--local_rank={LOCAL_RANK}"}})),
            0);

  EXPECT_EQ(ContentOf(path), "--local_rank=5 5 a=b\n");
}

TEST(RankLauncherTest, AFailureEndsTheOthersAndIsTheStatus) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(RunInShell("test $RANK = 8 && exit 3; exec sleep 600"), 3);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("rank 8 ended with status 3"));
}

TEST(RankLauncherTest, ARequestToEndReachesEachRankOnce) {
  const std::string terms = ::testing::TempDir() + "/terms",
                    ready = ::testing::TempDir() + "/ready";
  std::remove(terms.c_str());
  std::remove(ready.c_str());
  // Rank 8 goes on for half a second after the signal, rank 15 has it sent.
  const std::string counts =
      base::StrCat("trap 'echo term >> ", terms, "; seen=1' TERM; touch ", ready,
                   "; while [ -z \"$seen\" ]; do sleep 0.01; done; "
                   "i=0; while [ $i -lt 25 ]; do sleep 0.02; i=$((i+1)); done; exit 0");
  const std::string asks =
      base::StrCat("trap '' TERM; until [ -e ", ready, " ]; do sleep 0.01; done; kill -TERM $PPID");

  EXPECT_EQ(RunInShell(base::StrCat("if [ $RANK = 8 ]; then ", counts, "; fi; ", asks)), 0);

  EXPECT_EQ(ContentOf(terms), "term\n");
}

bool term_in_child = false;

TEST(RankLauncherTest, ASignalThatComesRightAfterTheForkEndsTheRank) {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (term_in_child) raise(SIGTERM);
  });
  ASSERT_EQ(registered, 0);
  ::testing::internal::CaptureStderr();

  term_in_child = true;
  const int status = RunInShell("exit 0");
  term_in_child = false;

  EXPECT_EQ(status, 128 + SIGTERM);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("ended with status 143"));
}

TEST(RankLauncherTest, AProgramThatDoesNotExistIsNamed) {
  ::testing::internal::CaptureStderr();
  const int status = RunRanks(
      LaunchArguments({.ranks = 2, .live = {0}, .preload = "", .command = {"/no/such/program"}}));
  EXPECT_EQ(status, 127);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("/no/such/program"));
}

TEST(RankLauncherTest, RefusesArgumentsThatAreNotALaunch) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(RunRanks({}), 2);
  EXPECT_EQ(RunRanks({"64", "0", "1", "torchrun", "", "--", "true"}), 2);
  EXPECT_EQ(RunRanks({"64", "8", "", "torchrun", "", "--", "true"}), 2);
  EXPECT_EQ(RunRanks({"64", "8", "1", "rsh", "", "--", "true"}), 2);
  EXPECT_EQ(RunRanks({"64", "8", "1", "slurm", "", "NAME", "--", "true"}), 2);
  EXPECT_EQ(RunRanks({"64", "8", "1", "slurm", "", "--"}), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("start-ranks needs"));
}

}  // namespace
}  // namespace eidolon::agent::launch
