#include "services/controller/job/status.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::job {
namespace {

TEST(StatusTest, RemainingTimeFollowsTheIterationsAfterTheFirst) {
  const Progress none = ComputeProgress(1, 8, 0, 100);
  const Progress half = ComputeProgress(4, 8, 1'000'000'000, 7'000'000'000);

  EXPECT_FALSE(none.remaining_seconds);
  EXPECT_DOUBLE_EQ(*half.remaining_seconds, 8.0);
  EXPECT_DOUBLE_EQ(half.percent, 50.0);
}

TEST(StatusTest, OutOfMemoryNamesTheRankTheUseAndWhatWouldFit) {
  Prediction prediction;
  constexpr std::uint64_t kGiB = 1u << 30;
  prediction.memory.push_back({.rank = 0, .peak_bytes = 10 * kGiB, .capacity_bytes = 80 * kGiB});
  prediction.memory.push_back({.rank = 3,
                               .peak_bytes = 78 * kGiB,
                               .capacity_bytes = 80 * kGiB,
                               .allocations_bytes = 75 * kGiB,
                               .workspace_bytes = 0,
                               .nccl_bytes = 2 * kGiB,
                               .context_bytes = kGiB,
                               .refused_bytes = 4 * kGiB});

  EXPECT_EQ(DescribeOutOfMemory(prediction),
            "Rank 3 peaked at 78.0 GiB of 80.0 GiB (parameters and allocator segments 75.0 GiB, "
            "workspace 0 B, NCCL 2.0 GiB, CUDA context 1.0 GiB); a further 4.0 GiB did not fit. "
            "The program came no further, so it needs 82.0 GiB or more: at least 2.0 GiB over what "
            "the GPU has.");
}

TEST(StatusTest, LeavesOutWhatIsNotKnown) {
  const nlohmann::json status = ToJson(JobStatus{});

  EXPECT_EQ(status["phase"], "Pending");
  EXPECT_FALSE(status.contains("prediction"));
  EXPECT_FALSE(status.contains("progress"));
}

}  // namespace
}  // namespace eidolon::controller::job
