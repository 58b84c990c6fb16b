#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shim/value/store.h"
#include "shim/vendor/cusolver/factorisation.h"
#include "shim/vendor/cusolver/generic.h"
#include "shim/vendor/cusolver/handle.h"
#include "shim/vendor/cusolver/spectrum.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cusolver {
namespace {

class CusolverTest : public ::testing::Test {
 protected:
  CusolverTest() : agent_(library::StartAgent()) { handle::Create(&handle_); }
  ~CusolverTest() override { handle::Destroy(handle_); }

  template <typename T>
  static T* Device(int i) {
    return reinterpret_cast<T*>(0x200000000000 + i * 0x1000000ll);
  }
  workload::Library Last(std::string_view name) {
    const auto works = library::LaunchedWork(agent_);
    EXPECT_FALSE(works.empty());
    if (works.empty()) return {};
    EXPECT_EQ(library::NameOf(works.back()), name);
    return library::As<workload::Library>(works.back());
  }
  static bool IsZero(const int* info) {
    int value = -1;
    const auto address = reinterpret_cast<std::uint64_t>(info);
    value::ProcessStore().Read(address, &value, sizeof(value));
    return value::ProcessStore().IsKnown(address, sizeof(value)) && value == 0;
  }

  core::FakeAgent& agent_;
  cusolverDnHandle_t handle_ = nullptr;
};

TEST_F(CusolverTest, EverySizeQueryWritesItsAnswer) {
  int size = -1;
  std::size_t device = 0, host = 7;
  EXPECT_EQ(factorisation::GetrfSize(handle_, 64, 64, Device<float>(0), 64, &size),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_GT(size, 0);
  size = -1;
  EXPECT_EQ(spectrum::GesvdSize(handle_, 32, 16, &size), CUSOLVER_STATUS_SUCCESS);
  EXPECT_GT(size, 0);
  EXPECT_EQ(
      generic::SyevdSize(handle_, nullptr, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 100,
                         CUDA_R_64F, nullptr, 100, CUDA_R_64F, nullptr, CUDA_R_64F, &device, &host),
      CUSOLVER_STATUS_SUCCESS);
  EXPECT_GE(device, 2u * 100 * 100 * 8);
  EXPECT_EQ(host, 0u);
}

TEST_F(CusolverTest, FactorisationsAreCountedAndSucceed) {
  int* info = Device<int>(3);
  ASSERT_EQ(factorisation::Potrf(handle_, CUBLAS_FILL_MODE_LOWER, 60, Device<double>(0), 60,
                                 Device<double>(1), 10, info),
            CUSOLVER_STATUS_SUCCESS);

  EXPECT_EQ(Last("cusolver.potrf").flops, 60u * 60 * 60 / 3);
  EXPECT_TRUE(IsZero(info));
}

TEST_F(CusolverTest, VectorsCostMoreThanValues) {
  const auto run = [&](cusolverEigMode_t mode) {
    EXPECT_EQ(spectrum::Syevd(handle_, mode, CUBLAS_FILL_MODE_LOWER, 50, Device<cuComplex>(0), 50,
                              Device<float>(1), Device<cuComplex>(2), 9, Device<int>(3)),
              CUSOLVER_STATUS_SUCCESS);
    return Last("cusolver.syevd").flops;
  };

  EXPECT_GT(run(CUSOLVER_EIG_MODE_VECTOR), run(CUSOLVER_EIG_MODE_NOVECTOR));
}

TEST_F(CusolverTest, RefusesNegativeSizesAndMissingHandles) {
  EXPECT_EQ(factorisation::Getrf(handle_, -1, 4, Device<float>(0), 4, Device<float>(1),
                                 Device<int>(2), Device<int>(3)),
            CUSOLVER_STATUS_INVALID_VALUE);
  cusolverDnHandle_t none = nullptr;
  EXPECT_EQ(factorisation::Getrf(none, 4, 4, Device<float>(0), 4, Device<float>(1), Device<int>(2),
                                 Device<int>(3)),
            CUSOLVER_STATUS_NOT_INITIALIZED);
  EXPECT_TRUE(library::LaunchedWork(agent_).empty());
}

TEST_F(CusolverTest, OptionsAreObjectsOfTheirOwn) {
  gesvdjInfo_t options = nullptr;
  cusolverDnParams_t parameters = nullptr;
  EXPECT_EQ(handle::CreateSvdOptions(&options), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(handle::CreateParameters(&parameters), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(handle::DestroyParameters(parameters), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(handle::DestroySvdOptions(options), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(handle::DestroySvdOptions(nullptr), CUSOLVER_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace eidolon::shim::cusolver
