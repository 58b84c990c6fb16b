#include "shim/vendor/cublas/routine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shim/value/store.h"
#include "shim/vendor/cublas/batched_lapack.h"
#include "shim/vendor/cublas/handle.h"
#include "shim/vendor/cublas/level1.h"
#include "shim/vendor/cublas/level2.h"
#include "shim/vendor/cublas/level3.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cublas {
namespace {

class RoutineTest : public ::testing::Test {
 protected:
  RoutineTest() : agent_(library::StartAgent()) { handle::Create(&handle_); }
  ~RoutineTest() override { handle::Destroy(handle_); }

  workload::Library Last(std::string* name) {
    const auto works = library::LaunchedWork(agent_);
    EXPECT_FALSE(works.empty());
    if (works.empty()) return {};
    *name = library::NameOf(works.back());
    return library::As<workload::Library>(works.back());
  }
  template <typename T>
  static T* Device(int i) {
    return reinterpret_cast<T*>(0x6b0100000000 + i * 0x1000000ll);
  }

  core::FakeAgent& agent_;
  cublasHandle_t handle_ = nullptr;
  std::string name_;
};

TEST_F(RoutineTest, CountsTheWorkOfEachLevel) {
  const double one = 1;
  ASSERT_EQ(level1::Axpy(handle_, 1000, &one, Device<double>(0), 1, Device<double>(1), 1),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Last(&name_).flops, 2000u);
  EXPECT_EQ(Last(&name_).memory_bytes, 24000u);
  EXPECT_EQ(name_, "cublas.axpy");

  ASSERT_EQ(level2::Gemv(handle_, CUBLAS_OP_N, 100, 50, &one, Device<double>(0), 100,
                         Device<double>(1), 1, &one, Device<double>(2), 1),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Last(&name_).flops, 10000u);
  EXPECT_EQ(name_, "cublas.gemv");

  ASSERT_EQ(level3::Trsm(handle_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                         CUBLAS_DIAG_NON_UNIT, 64, 32, &one, Device<double>(0), 64,
                         Device<double>(1), 64),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Last(&name_).flops, 64u * 64 * 32);
  EXPECT_EQ(name_, "cublas.trsm");
}

TEST_F(RoutineTest, AComplexMultiplyAddCountsFourTimes) {
  const cuComplex one{1, 0};

  ASSERT_EQ(level1::Axpy(handle_, 10, &one, Device<cuComplex>(0), 1, Device<cuComplex>(1), 1),
            CUBLAS_STATUS_SUCCESS);

  EXPECT_EQ(Last(&name_).flops, 80u);
}

TEST_F(RoutineTest, NarrowTypesMoveBytesToo) {
  const float one = 1;

  ASSERT_EQ(level2::GemvStridedBatched(
                handle_, CUBLAS_OP_N, 100, 50, &one, Device<__nv_bfloat16>(0), 100, 5000ll,
                Device<__nv_bfloat16>(1), 1, 50ll, &one, Device<float>(2), 1, 100ll, 3),
            CUBLAS_STATUS_SUCCESS);

  const workload::Library work = Last(&name_);
  EXPECT_EQ(work.type, static_cast<std::uint32_t>(CUDA_R_16BF));
  EXPECT_EQ(work.memory_bytes, (100u * 50 + 100 + 2 * 50) * 3 * 2);
}

TEST_F(RoutineTest, AResultOnTheHostWaitsForTheStream) {
  float result = 42;

  ASSERT_EQ(level1::Dot(handle_, 8, Device<float>(0), 1, Device<float>(1), 1, &result),
            CUBLAS_STATUS_SUCCESS);

  EXPECT_EQ(result, 0.0f);  // The policy for unknown values.
  EXPECT_EQ(agent_.RecordsOf(ring::RecordKind::kSynchronizeStream).size(), 1u);
}

TEST_F(RoutineTest, AResultOnTheDeviceDoesNotWait) {
  handle::SetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE);

  ASSERT_EQ(level1::Nrm2(handle_, 8, Device<float>(0), 1, Device<float>(1)), CUBLAS_STATUS_SUCCESS);

  EXPECT_TRUE(agent_.RecordsOf(ring::RecordKind::kSynchronizeStream).empty());
}

TEST_F(RoutineTest, BatchedFactorisationsReportSuccess) {
  int* info = Device<int>(3);

  ASSERT_EQ(batched_lapack::Getrf(handle_, 32, Device<float*>(0), 32, Device<int>(2), info, 4),
            CUBLAS_STATUS_SUCCESS);

  const auto address = reinterpret_cast<std::uint64_t>(info);
  EXPECT_TRUE(value::ProcessStore().IsKnown(address, 16));
  int host_info = -1;
  EXPECT_EQ(
      batched_lapack::Geqrf(handle_, 8, 8, Device<float*>(0), 8, Device<float*>(1), &host_info, 2),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(host_info, 0);
}

TEST_F(RoutineTest, RefusesNegativeSizesAndSkipsEmptyOnes) {
  const float one = 1;
  EXPECT_EQ(level1::Scal(handle_, -1, &one, Device<float>(0), 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(level1::Scal(handle_, 0, &one, Device<float>(0), 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(library::LaunchedWork(agent_).empty());
}

TEST_F(RoutineTest, StridesMustReachFromColumnToColumn) {
  const float one = 1;
  float* const a = Device<float>(0);
  float* const b = Device<float>(1);
  float* const c = Device<float>(2);
  const auto gemv = [&](int lda, int incx) {
    return level2::Gemv(handle_, CUBLAS_OP_T, 8, 4, &one, a, lda, b, incx, &one, c, 1);
  };
  const auto syrk = [&](cublasOperation_t trans, int lda, int ldc) {
    return level3::Syrk(handle_, CUBLAS_FILL_MODE_LOWER, trans, 8, 4, &one, a, lda, &one, c, ldc);
  };
  const auto trsm = [&](cublasSideMode_t side, int lda, int ldb) {
    return level3::Trsm(handle_, side, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 8,
                        4, &one, a, lda, b, ldb);
  };
  const auto getrf = [&](int lda) {
    return batched_lapack::Getrf(handle_, 8, Device<float*>(0), lda, Device<int>(2), Device<int>(3),
                                 2);
  };
  const struct {
    const char* name;
    cublasStatus_t got;
    bool taken;
  } rows[] = {
      {"gemv", gemv(8, 1), true},
      {"gemv backwards", gemv(9, -1), true},
      {"gemv with short columns", gemv(7, 1), false},
      {"gemv of one element", gemv(8, 0), false},
      {"syrk", syrk(CUBLAS_OP_N, 8, 8), true},
      {"syrk transposed", syrk(CUBLAS_OP_T, 4, 8), true},
      {"syrk with short columns", syrk(CUBLAS_OP_N, 4, 8), false},
      {"syrk with a short result", syrk(CUBLAS_OP_N, 8, 7), false},
      {"trsm from the left", trsm(CUBLAS_SIDE_LEFT, 8, 8), true},
      {"trsm from the right", trsm(CUBLAS_SIDE_RIGHT, 4, 8), true},
      {"trsm with a small triangle", trsm(CUBLAS_SIDE_LEFT, 4, 8), false},
      {"trsm with a short result", trsm(CUBLAS_SIDE_RIGHT, 4, 4), false},
      {"getrf", getrf(8), true},
      {"getrf with short columns", getrf(7), false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(row.got, row.taken ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE) << row.name;
  }
  EXPECT_EQ(library::LaunchedWork(agent_).size(), 7u);
  EXPECT_EQ(level2::Gemv(cublasHandle_t{}, CUBLAS_OP_N, 8, 4, &one, a, 7, b, 1, &one, c, 1),
            CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(RoutineTest, TheHandleEchoesItsSettings) {
  cublasMath_t math;
  cudaStream_t stream = reinterpret_cast<cudaStream_t>(1);
  int version = 0;
  EXPECT_EQ(handle::SetMathMode(handle_, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(handle::GetMathMode(handle_, &math), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(math, CUBLAS_TF32_TENSOR_OP_MATH);
  EXPECT_EQ(handle::GetStream(handle_, &stream), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(handle::GetVersion(handle_, &version), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(version, CUBLAS_VERSION);
  version = 0;
  EXPECT_EQ(handle::GetVersion(nullptr, &version), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(version, CUBLAS_VERSION);
  EXPECT_EQ(handle::GetVersion(nullptr, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_STREQ(handle::GetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
}

}  // namespace
}  // namespace eidolon::shim::cublas
