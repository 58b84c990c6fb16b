#include "shim/vendor/cufft/transform.h"

#include <array>

#include <gtest/gtest.h>

#include "shim/gpu/memory/memory.h"
#include "shim/vendor/cufft/plan.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cufft {
namespace {

class TransformTest : public ::testing::Test {
 protected:
  TransformTest() : agent_(library::StartAgent()) {
    EXPECT_EQ(gpu::Allocate(0, 64 << 20, &memory_), gpu::Status::kSuccess);
    agent_.Reset();
  }
  ~TransformTest() override { gpu::Free(memory_); }
  template <typename T>
  T* Memory() {
    return reinterpret_cast<T*>(memory_);
  }

  core::FakeAgent& agent_;
  std::uint64_t memory_ = 0;
};

TEST_F(TransformTest, RunsAsOneCountedCall) {
  cufftHandle plan = 0;
  ASSERT_EQ(planning::Plan1d(&plan, 1024, CUFFT_C2C, 8), CUFFT_SUCCESS);

  EXPECT_EQ(execution::ExecC2C(plan, Memory<cufftComplex>(), Memory<cufftComplex>(), CUFFT_FORWARD),
            CUFFT_SUCCESS);

  const auto launched = library::LaunchedWork(agent_);
  ASSERT_EQ(launched.size(), 1u);
  const auto work = library::As<workload::Library>(launched[0]);
  EXPECT_EQ(library::NameOf(launched[0]), "cufft.transform");
  EXPECT_EQ(work.flops, 5u * 1024 * 10 * 8);
  EXPECT_EQ(work.memory_bytes, 2u * 8 * 1024 * 8);
  EXPECT_EQ(planning::Destroy(plan), CUFFT_SUCCESS);
}

TEST_F(TransformTest, RealTransformsKeepHalfOfTheSpectrum) {
  Transform transform;
  const long long lengths[] = {4, 10};

  ASSERT_EQ(Describe(lengths, 3, CUFFT_R2C, &transform), CUFFT_SUCCESS);

  EXPECT_EQ(transform.InputElements(), 120u);
  EXPECT_EQ(transform.OutputElements(), 72u);
  EXPECT_EQ(transform.WorkBytes(), 72u * 8);
}

TEST_F(TransformTest, EmbeddingSaysWhereResultsLie) {
  Transform transform;
  ASSERT_EQ(Describe(std::array<long long, 1>{4}, 2, CUFFT_C2C, &transform), CUFFT_SUCCESS);
  ASSERT_EQ(Embed({{8}, 2, 16}, {{8}, 3, 20}, &transform), CUFFT_SUCCESS);

  const compute::Fourier fourier = FourierOf(transform, true, Memory<char>(), Memory<char>() + 1);

  EXPECT_EQ(fourier.input.stride, 2);
  EXPECT_EQ(fourier.input.distance, 16);
  EXPECT_EQ(fourier.output.embed, (std::array<std::int64_t, 3>{1, 1, 8}));
  EXPECT_EQ(compute::WrittenElements(fourier), 20u + 3 * 3 + 1);
  EXPECT_TRUE(fourier.inverse);
}

TEST_F(TransformTest, ARealSideInPlaceIsPadded) {
  Transform transform;
  ASSERT_EQ(Describe(std::array<long long, 2>{3, 10}, 2, CUFFT_R2C, &transform), CUFFT_SUCCESS);

  const compute::Fourier apart = FourierOf(transform, false, Memory<char>(), Memory<char>() + 1);
  const compute::Fourier in_place = FourierOf(transform, false, Memory<char>(), Memory<char>());

  EXPECT_EQ(apart.input.distance, 30);
  EXPECT_EQ(in_place.input.embed, (std::array<std::int64_t, 3>{1, 3, 12}));
  EXPECT_EQ(in_place.input.distance, 36);
  EXPECT_EQ(in_place.output.distance, 18);
  EXPECT_EQ(compute::WrittenElements(in_place), 36u);
}

TEST_F(TransformTest, TypesNobodyComputesWithKeepTheirExtent) {
  Transform transform;
  ASSERT_EQ(Describe(std::array<long long, 1>{16}, 1, CUDA_C_16F, CUDA_C_16F, &transform),
            CUFFT_SUCCESS);

  const compute::Fourier fourier = FourierOf(transform, false, Memory<char>(), Memory<char>());

  EXPECT_EQ(compute::WrittenElements(fourier), 16u);
  EXPECT_FALSE(compute::IsSmall(fourier));
}

TEST_F(TransformTest, AbsurdEmbeddingsAreRefused) {
  Transform transform;
  ASSERT_EQ(Describe(std::array<long long, 1>{4}, 2, CUFFT_C2C, &transform), CUFFT_SUCCESS);
  const Layout good{{8}, 1, 8};

  EXPECT_EQ(Embed({{8, 8}, 1, 8}, good, &transform), CUFFT_INVALID_SIZE);
  EXPECT_EQ(Embed({{1LL << 60}, 1, 8}, good, &transform), CUFFT_INVALID_SIZE);
  EXPECT_EQ(Embed(good, {{8}, 1, 1LL << 60}, &transform), CUFFT_INVALID_SIZE);
  EXPECT_EQ(Embed(good, {{8}, 0, 8}, &transform), CUFFT_INVALID_VALUE);
  EXPECT_EQ(Embed(good, {{8}, 1, -8}, &transform), CUFFT_INVALID_VALUE);
  EXPECT_FALSE(transform.input_layout.has_value());
}

TEST_F(TransformTest, EveryWayOfAskingGivesTheSameWorkArea) {
  cufftHandle plan = 0;
  std::size_t made = 0;
  std::size_t asked = 0;
  std::size_t estimated = 0;
  long long n[] = {64, 32};
  ASSERT_EQ(planning::Create(&plan), CUFFT_SUCCESS);
  ASSERT_EQ(planning::SetAutoAllocation(plan, 0), CUFFT_SUCCESS);

  EXPECT_EQ(planning::XtMakeMany(plan, 2, n, nullptr, 1, 0, CUDA_C_32F, nullptr, 1, 0, CUDA_C_32F,
                                 5, &made, CUDA_C_32F),
            CUFFT_SUCCESS);
  EXPECT_EQ(planning::GetSize(plan, &asked), CUFFT_SUCCESS);
  int narrow[] = {64, 32};
  EXPECT_EQ(
      planning::EstimateMany(2, narrow, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, 5, &estimated),
      CUFFT_SUCCESS);

  EXPECT_EQ(made, 64u * 32 * 5 * 8);
  EXPECT_EQ(asked, made);
  EXPECT_EQ(estimated, made);
  EXPECT_EQ(execution::XtExec(plan, Memory<void>(), Memory<void>(), CUFFT_FORWARD),
            CUFFT_NO_WORKSPACE);
  EXPECT_EQ(planning::SetWorkArea(plan, Memory<void>()), CUFFT_SUCCESS);
  EXPECT_EQ(execution::XtExec(plan, Memory<void>(), Memory<void>(), CUFFT_FORWARD), CUFFT_SUCCESS);
  EXPECT_EQ(planning::Destroy(plan), CUFFT_SUCCESS);
}

TEST_F(TransformTest, APlanOwnsItsWorkAreaUntilItIsDestroyed) {
  const std::uint64_t free_before = gpu::GetMemoryInfo(0).free;
  cufftHandle plan = 0;

  ASSERT_EQ(planning::Plan3d(&plan, 256, 256, 64, CUFFT_Z2Z), CUFFT_SUCCESS);
  EXPECT_EQ(free_before - gpu::GetMemoryInfo(0).free, std::uint64_t{256} * 256 * 64 * 16);
  ASSERT_EQ(planning::Destroy(plan), CUFFT_SUCCESS);

  EXPECT_EQ(gpu::GetMemoryInfo(0).free, free_before);
}

TEST_F(TransformTest, RefusesWhatMakesNoSense) {
  cufftHandle plan = 0;
  std::size_t bytes = 0;

  EXPECT_EQ(planning::Plan1d(&plan, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
  EXPECT_EQ(planning::Plan1d(&plan, 8, static_cast<cufftType>(3), 1), CUFFT_INVALID_TYPE);
  EXPECT_EQ(planning::Estimate3d(1 << 30, 1 << 30, 1 << 30, CUFFT_C2C, &bytes), CUFFT_INVALID_SIZE);
  EXPECT_EQ(planning::Destroy(12345), CUFFT_INVALID_PLAN);
  ASSERT_EQ(planning::Plan1d(&plan, 8, CUFFT_C2C, 1), CUFFT_SUCCESS);
  EXPECT_EQ(planning::Make1d(plan, 8, CUFFT_C2C, 1, &bytes), CUFFT_INVALID_PLAN);
  EXPECT_EQ(execution::ExecR2C(plan, Memory<cufftReal>(), Memory<cufftComplex>()),
            CUFFT_INVALID_TYPE);
  EXPECT_EQ(execution::ExecC2C(plan, nullptr, Memory<cufftComplex>(), CUFFT_FORWARD),
            CUFFT_INVALID_VALUE);
  EXPECT_EQ(planning::Destroy(plan), CUFFT_SUCCESS);
}

}  // namespace
}  // namespace eidolon::shim::cufft
