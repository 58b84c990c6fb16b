// GEMMs through a cuBLAS that checks its workspace (fake_cublas.cc).
#include "services/timing/replay/gemm_replay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "services/timing/replay/player.h"
#include "source_tree.h"

namespace eidolon::timing::replay {
namespace {

constexpr const char* kDriver = EIDOLON_BINARY_DIR "/tests/libeidolon_fake_cuda.so";
constexpr const char* kLibraries = EIDOLON_BINARY_DIR "/tests/fake_cublas";

struct GpuCase {
  const char* compute_major;
  const char* workspace_bytes;
};

class WorkspaceTest : public testing::TestWithParam<GpuCase> {};
INSTANTIATE_TEST_SUITE_P(ComputeCapabilities, WorkspaceTest,
                         testing::Values(GpuCase{"8", "8519680"}, GpuCase{"9", "33554432"},
                                         GpuCase{"10", "33554432"}, GpuCase{"12", "33554432"}),
                         [](const auto& test) {
                           return std::string("Of") + test.param.compute_major;
                         });

TEST_P(WorkspaceTest, IsThatOfPyTorch) {
  setenv("EIDOLON_FAKE_COMPUTE_MAJOR", GetParam().compute_major, 1);
  setenv("EIDOLON_FAKE_WORKSPACE", GetParam().workspace_bytes, 1);
  const auto player = Player::Open({.driver = kDriver, .libraries = kLibraries});
  ASSERT_TRUE(player) << player.error().message;
  kernel::Gemm gemm;
  gemm.m = gemm.n = gemm.k = 256;
  gemm.lda = gemm.ldb = gemm.ldc = gemm.ldd = 256;
  gemm.type_a = gemm.type_b = gemm.type_c = gemm.type_d = CUDA_R_16BF;
  gemm.compute_type = CUBLAS_COMPUTE_32F;

  const auto played = (*player)->Play(gemm, {});

  unsetenv("EIDOLON_FAKE_COMPUTE_MAJOR");
  EXPECT_TRUE(played) << played.error().message;
}

}  // namespace
}  // namespace eidolon::timing::replay
