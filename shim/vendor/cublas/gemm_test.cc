#include "shim/vendor/cublas/gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "shim/gpu/memory/memory.h"
#include "shim/value/store.h"
#include "shim/vendor/cublas/grouped_gemm.h"
#include "shim/vendor/cublas/handle.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cublas::gemm {
namespace {

class GemmTest : public ::testing::Test {
 protected:
  GemmTest() : agent_(library::StartAgent()) {
    EXPECT_EQ(handle::Create(&handle_), CUBLAS_STATUS_SUCCESS);
  }
  ~GemmTest() override { handle::Destroy(handle_); }

  // y = x W^T as torch's linear calls it: row-major operands seen as column-major ones.
  cublasStatus_t Linear(int rows, int in, int out, cudaDataType_t type = CUDA_R_16BF) {
    return GemmEx<int>(handle_, CUBLAS_OP_T, CUBLAS_OP_N, out, rows, in, &one_, Buffer(0), type, in,
                       Buffer(1), type, in, &zero_, Buffer(2), type, out, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT);
  }
  workload::Gemm LastGemm() {
    const auto works = library::LaunchedWork(agent_);
    EXPECT_FALSE(works.empty());
    return works.empty() ? workload::Gemm{} : library::As<workload::Gemm>(works.back());
  }
  static void* Buffer(int i) { return reinterpret_cast<void*>(0x6b0100000000 + i * 0x10000000ll); }

  core::FakeAgent& agent_;
  cublasHandle_t handle_ = nullptr;
  float one_ = 1, zero_ = 0;
};

TEST_F(GemmTest, LinearLayerKeepsItsShape) {
  ASSERT_EQ(Linear(2048, 4096, 11008), CUBLAS_STATUS_SUCCESS);

  const auto work = LastGemm();
  EXPECT_EQ(work.header.kind, workload::WorkKind::kGemm);
  EXPECT_EQ(work.m, 11008u);
  EXPECT_EQ(work.n, 2048u);
  EXPECT_EQ(work.k, 4096u);
  EXPECT_EQ(work.batch, 1u);
  EXPECT_EQ(work.type_a, static_cast<std::uint32_t>(CUDA_R_16BF));
  EXPECT_EQ(work.transpose_a, 1u);
  EXPECT_EQ(work.beta_zero, 1u);
}

TEST_F(GemmTest, EqualGemmsAreOneWork) {
  ASSERT_EQ(Linear(64, 64, 64), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Linear(64, 64, 64), CUBLAS_STATUS_SUCCESS);

  const auto launches = agent_.RecordsOf(ring::RecordKind::kLaunch);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].As<ring::LaunchRecord>().work, launches[1].As<ring::LaunchRecord>().work);
}

TEST_F(GemmTest, StridedBatchesAndSixtyFourBitSizesAreTaken) {
  ASSERT_EQ(GemmStridedBatchedEx<std::int64_t>(
                handle_, CUBLAS_OP_N, CUBLAS_OP_N, 128, 256, 64, &one_, Buffer(0), CUDA_R_16F, 128,
                8192, Buffer(1), CUDA_R_16F, 64, 16384, &one_, Buffer(2), CUDA_R_16F, 128, 32768,
                12, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);

  const auto work = LastGemm();
  EXPECT_EQ(work.batch, 12u);
  EXPECT_EQ(work.stride_c, 32768u);
  EXPECT_EQ(work.beta_zero, 0u);
}

TEST_F(GemmTest, TheMathModeDecidesHowSingleGemmsCompute) {
  const float* a = static_cast<float*>(Buffer(0));
  float* c = static_cast<float*>(Buffer(2));
  const auto gemm = [&] {
    EXPECT_EQ(
        Gemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 32, 32, 32, &one_, a, 32, a, 32, &zero_, c, 32),
        CUBLAS_STATUS_SUCCESS);
    return LastGemm().compute_type;
  };

  EXPECT_EQ(gemm(), static_cast<std::uint32_t>(CUBLAS_COMPUTE_32F));
  handle::SetMathMode(handle_, CUBLAS_TF32_TENSOR_OP_MATH);
  EXPECT_EQ(gemm(), static_cast<std::uint32_t>(CUBLAS_COMPUTE_32F_FAST_TF32));
}

TEST_F(GemmTest, RefusesWhatCublasRefuses) {
  EXPECT_EQ(Linear(-1, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(GemmEx<int>(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one_, Buffer(0), CUDA_R_16F,
                        32, Buffer(1), CUDA_R_16F, 64, &zero_, Buffer(2), CUDA_R_16F, 64,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_INVALID_VALUE);  // lda below m.
  EXPECT_EQ(Linear(4, 4, 4, CUDA_R_8F_E4M3), CUBLAS_STATUS_NOT_SUPPORTED);
  cublasHandle_t none = nullptr;
  EXPECT_EQ(
      Gemm(none, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one_, &one_, 1, &one_, 1, &zero_, &one_, 1),
      CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_TRUE(library::LaunchedWork(agent_).empty());
}

TEST_F(GemmTest, GemmsThatNoMemoryHoldsAreRefused) {
  const std::int64_t most = INT64_MAX;
  const auto gemm = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return GemmEx<std::int64_t>(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one_, Buffer(0),
                                CUDA_R_16F, m, Buffer(1), CUDA_R_16F, k, &zero_, Buffer(2),
                                CUDA_R_16F, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
  EXPECT_EQ(gemm(1 << 20, 1 << 20, 64), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(gemm(most, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(2, most, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(2, 2, most), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(std::int64_t{1} << 32, std::int64_t{1} << 32, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(library::LaunchedWork(agent_).size(), 1u);
}

TEST_F(GemmTest, AnEmptyGemmSucceedsWithoutWork) {
  EXPECT_EQ(Linear(0, 4, 4), CUBLAS_STATUS_SUCCESS);

  EXPECT_TRUE(library::LaunchedWork(agent_).empty());
}

TEST_F(GemmTest, TheResultIsUnknownAfterwards) {
  const auto address = reinterpret_cast<std::uint64_t>(Buffer(2));
  value::ProcessStore().Fill(address, 0, 4, 64);

  ASSERT_EQ(Linear(8, 8, 8), CUBLAS_STATUS_SUCCESS);

  EXPECT_FALSE(value::ProcessStore().IsKnown(address, 64));
}

TEST_F(GemmTest, TheLibrarysWorkspaceIsBookedUnlessTheProgramGivesOne) {
  const auto before = gpu::GetMemoryInfo(1).free;
  gpu::SetDevice(1);
  handle::SetWorkspace(handle_, Buffer(4), 1 << 20);
  ASSERT_EQ(Linear(16, 16, 16), CUBLAS_STATUS_SUCCESS);
  const auto with_own = gpu::GetMemoryInfo(1).free;
  handle::SetStream(handle_, nullptr);
  ASSERT_EQ(Linear(16, 16, 16), CUBLAS_STATUS_SUCCESS);
  gpu::SetDevice(0);

  EXPECT_EQ(with_own - gpu::GetMemoryInfo(1).free, 32u << 20);
  EXPECT_LE(with_own, before);
}

TEST_F(GemmTest, GroupsBecomeOneWorkWithTheirSums) {
  const int m[] = {128, 256}, n[] = {64, 64}, k[] = {32, 32}, sizes[] = {1, 2};
  const cublasOperation_t none[] = {CUBLAS_OP_N, CUBLAS_OP_N};

  ASSERT_EQ(GemmGroupedBatchedEx<int>(handle_, none, none, m, n, k, nullptr, nullptr, CUDA_R_16BF,
                                      m, nullptr, CUDA_R_16BF, k, nullptr, nullptr, CUDA_R_16BF, m,
                                      2, sizes, CUBLAS_COMPUTE_32F),
            CUBLAS_STATUS_SUCCESS);

  const auto works = library::LaunchedWork(agent_);
  ASSERT_EQ(works.size(), 1u);
  EXPECT_EQ(library::NameOf(works[0]), "cublas.gemm_grouped");
  EXPECT_EQ(library::As<workload::Library>(works[0]).flops,
            2ull * 64 * 32 * 128 + 2ull * 2 * 64 * 32 * 256);
}

}  // namespace
}  // namespace eidolon::shim::cublas::gemm
