#include "services/agent/launch/rank_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace eidolon::agent::launch {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

// The sixth rank of the second of four servers.
constexpr RankPlace kPlace = {.rank = 13, .ranks = 32, .ranks_per_server = 8};

TEST(RankVariablesTest, EveryRankFindsTorchrunsVariables) {
  for (const RankVariables style : {RankVariables::kTorchrun, RankVariables::kDeepSpeed,
                                    RankVariables::kSlurm, RankVariables::kOpenMpi}) {
    EXPECT_THAT(RankEnvironment(kPlace, style),
                IsSupersetOf({Pair("RANK", "13"), Pair("LOCAL_RANK", "5"), Pair("WORLD_SIZE", "32"),
                              Pair("TORCHELASTIC_USE_AGENT_STORE", "True")}));
  }
  EXPECT_THAT(RankEnvironment(kPlace, RankVariables::kTorchrun),
              Not(Contains(Key("SLURM_NTASKS"))));
}

TEST(RankVariablesTest, TheJobsOwnErrorHandlingOfNcclStays) {
  constexpr const char* kName = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
  unsetenv(kName);
  EXPECT_THAT(RankEnvironment(kPlace, RankVariables::kTorchrun), Contains(Pair(kName, "1")));
  setenv(kName, "0", 1);
  EXPECT_THAT(RankEnvironment(kPlace, RankVariables::kTorchrun), Not(Contains(Key(kName))));
  unsetenv(kName);
}

TEST(RankVariablesTest, SchedulersSayTheSameInTheirOwnNames) {
  EXPECT_THAT(RankEnvironment(kPlace, RankVariables::kSlurm),
              IsSupersetOf({Pair("SLURM_PROCID", "13"), Pair("SLURM_LOCALID", "5"),
                            Pair("SLURM_NODEID", "1"), Pair("SLURM_NTASKS", "32"),
                            Pair("SLURM_NNODES", "4"), Pair("SLURM_TASKS_PER_NODE", "8(x4)"),
                            Pair("SLURM_JOB_NODELIST", "server[0-3]")}));
  EXPECT_THAT(RankEnvironment(kPlace, RankVariables::kOpenMpi),
              IsSupersetOf({Pair("OMPI_COMM_WORLD_RANK", "13"), Pair("OMPI_COMM_WORLD_SIZE", "32"),
                            Pair("OMPI_COMM_WORLD_LOCAL_RANK", "5"),
                            Pair("OMPI_COMM_WORLD_LOCAL_SIZE", "8")}));
  EXPECT_THAT(RankEnvironment(kPlace, RankVariables::kDeepSpeed),
              IsSupersetOf({Pair("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"),
                            Pair("CROSS_RANK", "1"), Pair("LOCAL_SIZE", "8")}));
}

TEST(RankVariablesTest, OneServerIsNoRange) {
  const RankPlace alone = {.rank = 1, .ranks = 2, .ranks_per_server = 2};

  EXPECT_THAT(
      RankEnvironment(alone, RankVariables::kSlurm),
      IsSupersetOf({Pair("SLURM_JOB_NODELIST", "server0"), Pair("SLURM_TASKS_PER_NODE", "2")}));
}

TEST(RankVariablesTest, NamesAreReadBack) {
  EXPECT_EQ(RankVariablesOf(Name(RankVariables::kDeepSpeed)), RankVariables::kDeepSpeed);
  EXPECT_EQ(RankVariablesOf("rsh"), std::nullopt);
}

}  // namespace
}  // namespace eidolon::agent::launch
