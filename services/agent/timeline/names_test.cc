#include "services/agent/timeline/names.h"

#include <gtest/gtest.h>

namespace eidolon::agent::timeline {
namespace {

TEST(NamesTest, NamesAreThoseOfCudaAndNccl) {
  EXPECT_EQ(KernelName("_ZN2at6native5scaleIfEEvPT_f"), "at::native::scale<float>");
  EXPECT_EQ(KernelName("gemm 1x2x3"), "gemm 1x2x3");
  EXPECT_EQ(KernelName("_Znonsense"), "_Znonsense");
  EXPECT_EQ(CollectiveName("COLLECTIVE_KIND_REDUCE_SCATTER"), "ncclReduceScatter");
  EXPECT_EQ(CollectiveName("gemm"), "gemm");
}

}  // namespace
}  // namespace eidolon::agent::timeline
