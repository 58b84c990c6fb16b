#include "shim/vendor/cublas_lt/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/contract/workload/epilogue.h"
#include "shim/vendor/cublas_lt/algorithm.h"
#include "shim/vendor/cublas_lt/descriptor.h"
#include "shim/vendor/cublas_lt/library_state.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cublas_lt {
namespace {

class MatmulTest : public ::testing::Test {
 protected:
  MatmulTest() : agent_(library::StartAgent()) {
    library_state::Create(&handle_);
    preference::Create(&preference_);
    Describe(CUDA_R_16BF);
  }
  ~MatmulTest() override {
    Release();
    preference::Destroy(preference_);
    library_state::Destroy(handle_);
  }

  // A linear layer with bias: 1024 rows of 512 features to 2048.
  void Describe(cudaDataType_t type) {
    Release();
    matmul_desc::Create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    SetDesc(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
    layout::Create(&a_, type, 512, 2048, 512);
    layout::Create(&b_, type, 512, 1024, 512);
    layout::Create(&d_, CUDA_R_16BF, 2048, 1024, 2048);
  }
  void Release() {
    if (desc_ == nullptr) return;
    matmul_desc::Destroy(desc_);
    for (auto layout : {a_, b_, d_}) layout::Destroy(layout);
  }
  template <typename T>
  cublasStatus_t SetDesc(cublasLtMatmulDescAttributes_t attribute, T value) {
    return matmul_desc::Set(desc_, attribute, &value, sizeof(value));
  }
  template <typename T>
  static void SetLayout(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                        T value) {
    EXPECT_EQ(layout::Set(layout, attribute, &value, sizeof(value)), CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t Heuristic(int* count, cublasLtMatmulHeuristicResult_t* result) {
    return algorithm::GetHeuristic(handle_, desc_, a_, b_, d_, d_, preference_, 1, result, count);
  }
  cublasStatus_t Multiply(const cublasLtMatmulAlgo_t* algorithm = nullptr) {
    const float one = 1, zero = 0;
    return matmul::Matmul(handle_, desc_, &one, Buffer(0), a_, Buffer(1), b_, &zero, Buffer(2), d_,
                          Buffer(2), d_, algorithm, nullptr, 0, nullptr);
  }
  workload::Gemm LastGemm() {
    const auto works = library::LaunchedWork(agent_);
    EXPECT_FALSE(works.empty());
    return works.empty() ? workload::Gemm{} : library::As<workload::Gemm>(works.back());
  }
  static void* Buffer(int i) { return reinterpret_cast<void*>(0x6b0100000000 + i * 0x10000000ll); }

  core::FakeAgent& agent_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
};

TEST_F(MatmulTest, ABiasedLinearLayerIsOneGemmWithItsEpilogue) {
  SetDesc(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
  SetDesc(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(Buffer(3)));
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  ASSERT_EQ(Heuristic(&count, &result), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(count, 1);

  ASSERT_EQ(Multiply(&result.algo), CUBLAS_STATUS_SUCCESS);

  const auto work = LastGemm();
  EXPECT_EQ(work.m, 2048u);
  EXPECT_EQ(work.n, 1024u);
  EXPECT_EQ(work.k, 512u);
  EXPECT_EQ(work.epilogue, workload::Epilogue::kBias);
  EXPECT_EQ(work.transpose_a, 1u);
  EXPECT_EQ(work.beta_zero, 1u);
}

TEST_F(MatmulTest, HeuristicsStayWithinTheWorkspaceAndRepeat) {
  const std::uint64_t limit = 1 << 20;
  preference::Set(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit));
  cublasLtMatmulHeuristicResult_t first{}, second{};
  int count = 0;

  ASSERT_EQ(Heuristic(&count, &first), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Heuristic(&count, &second), CUBLAS_STATUS_SUCCESS);

  EXPECT_LE(first.workspaceSize, limit);
  EXPECT_EQ(first.state, CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(first.wavesCount, 0);
  EXPECT_EQ(std::memcmp(&first, &second, sizeof(first)), 0);
}

TEST_F(MatmulTest, RowMajorMatricesAreSeenTransposed) {
  for (auto layout : {a_, b_, d_}) layout::Destroy(layout);
  SetDesc(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_N});
  layout::Create(&a_, CUDA_R_16BF, 100, 64, 64);
  layout::Create(&b_, CUDA_R_16BF, 64, 48, 48);
  layout::Create(&d_, CUDA_R_16BF, 100, 48, 48);
  for (auto layout : {a_, b_, d_}) {
    SetLayout(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_ROW});
  }

  ASSERT_EQ(Multiply(), CUBLAS_STATUS_SUCCESS);

  // D^T = B^T A^T, each of which is a plain column-major matrix in memory.
  const auto work = LastGemm();
  EXPECT_EQ(work.m, 48u);
  EXPECT_EQ(work.n, 100u);
  EXPECT_EQ(work.k, 64u);
  EXPECT_EQ(work.lda, 48u);
  EXPECT_EQ(work.ldb, 64u);
  EXPECT_EQ(work.transpose_a, 0u);
  EXPECT_EQ(work.transpose_b, 0u);
}

TEST_F(MatmulTest, BatchesComeFromTheLayouts) {
  for (auto layout : {a_, b_, d_}) {
    SetLayout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{16});
    SetLayout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{4194304});
  }

  ASSERT_EQ(Multiply(), CUBLAS_STATUS_SUCCESS);

  EXPECT_EQ(LastGemm().batch, 16u);
  EXPECT_EQ(LastGemm().stride_b, 4194304u);
}

TEST_F(MatmulTest, EightBitFloatsNameTheirScaling) {
  Describe(CUDA_R_8F_E4M3);
  SetDesc(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(Buffer(4)));
  ASSERT_EQ(Multiply(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(LastGemm().scale_mode, 1u);
  EXPECT_EQ(LastGemm().fast_accumulation, 0u);
  SetDesc(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  ASSERT_EQ(Multiply(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(LastGemm().fast_accumulation, 1u);

  // Only a transposed A and a plain B multiply in eight bits before Blackwell.
  SetDesc(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_N});
  layout::Destroy(a_);
  layout::Create(&a_, CUDA_R_8F_E4M3, 2048, 512, 2048);
  EXPECT_EQ(Multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(MatmulTest, ShapesThatDoNotFitAreInvalid) {
  SetLayout(b_, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{500});
  cublasLtMatmulHeuristicResult_t result{};
  int count = 7;

  EXPECT_EQ(Multiply(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(Heuristic(&count, &result), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(count, 0);
}

TEST_F(MatmulTest, AttributesAreEchoedWithTheirSize) {
  std::int32_t value = 0;
  std::size_t written = 0;
  EXPECT_EQ(matmul_desc::Get(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &value, sizeof(value), &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(value, CUBLAS_OP_T);
  EXPECT_EQ(written, sizeof(value));
  EXPECT_EQ(matmul_desc::Get(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr, 0, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof(void*));
  EXPECT_EQ(matmul_desc::Set(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &value, 2),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(matmul_desc::Set(nullptr, CUBLASLT_MATMUL_DESC_TRANSA, &value, sizeof(value)),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(MatmulTest, DescriptorsLiveInTheProgramsStorageToo) {
  cublasLtMatrixLayoutOpaque_t storage;
  EXPECT_EQ(layout::Init(&storage, sizeof(storage), CUDA_R_32F, 3, 4, 3), CUBLAS_STATUS_SUCCESS);
  std::uint64_t rows = 0;
  EXPECT_EQ(layout::Get(&storage, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof(rows), nullptr),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(rows, 3u);
  EXPECT_EQ(layout::Init(&storage, 8, CUDA_R_32F, 3, 4, 3), CUBLAS_STATUS_ALLOC_FAILED);
}

TEST_F(MatmulTest, AForeignAlgorithmIsRefused) {
  cublasLtMatmulAlgo_t algorithm{};
  EXPECT_EQ(Multiply(&algorithm), CUBLAS_STATUS_INVALID_VALUE);
  int ids[2] = {}, count = 0;
  ASSERT_EQ(algorithm::GetIds(handle_, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F,
                              CUDA_R_16F, CUDA_R_16F, 2, ids, &count),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(count, 1);
  ASSERT_EQ(algorithm::Init(handle_, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F,
                            CUDA_R_16F, CUDA_R_16F, ids[0], &algorithm),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Multiply(&algorithm), CUBLAS_STATUS_SUCCESS);
  std::size_t written = 0;
  EXPECT_EQ(algorithm::CapabilityGet(&algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, nullptr, 0, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(written, 0u);
}

}  // namespace
}  // namespace eidolon::shim::cublas_lt
