#include "shim/vendor/cuda_runtime/launch.h"

#include <gtest/gtest.h>

#include <utility>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/module/sample.h"
#include "shim/vendor/cuda_runtime/error_state.h"
#include "shim/vendor/cuda_runtime/function.h"
#include "shim/vendor/cuda_runtime/launch_shape.h"
#include "shim/vendor/cuda_runtime/registration.h"

namespace eidolon::shim::cuda_runtime {
namespace {

using core::FakeAgent;
using ring::RecordKind;

// Host functions as the compiler's stubs are: only their addresses matter.
char scale_stub;
char tile_stub;
char missing_stub;
char launch_table_stub;

class RuntimeLaunchTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static gpu::SampleWrapper wrapper;
    void** handle = registration::RegisterFatBinary(&wrapper);
    const auto add = [&](const char* host, const char* name) {
      registration::RegisterFunction(handle, host, nullptr, name, -1, nullptr, nullptr, nullptr,
                                     nullptr, nullptr);
    };
    add(&scale_stub, "scale");
    add(&tile_stub, "tile");
    add(&missing_stub, "missing");
    registration::RegisterVar(handle, &launch_table_stub, nullptr, "table", 0, 256, 0, 0);
    registration::RegisterFatBinaryEnd(handle);
  }
  RuntimeLaunchTest() : agent_(FakeAgent::Start()) {
    agent_.Reset();
    error_state::GetLast();
  }

  // Launches as a compiled scale<<<grid, block, shared>>>(out, factor, count) does.
  cudaError_t LaunchScale(dim3 grid, dim3 block, std::size_t shared = 0) {
    EXPECT_EQ(launch::PushConfiguration(grid, block, shared, nullptr), 0u);
    cudaKernel_t kernel = nullptr;
    EXPECT_EQ(function::GetKernel(&kernel, &scale_stub), cudaSuccess);
    dim3 popped_grid;
    dim3 popped_block;
    std::size_t popped_shared = 0;
    cudaStream_t stream = nullptr;
    EXPECT_EQ(launch::PopConfiguration(&popped_grid, &popped_block, &popped_shared, &stream),
              cudaSuccess);
    std::uint64_t out = 0;
    float factor = 1;
    unsigned count = 2;
    void* arguments[] = {&out, &factor, &count};
    return launch::LaunchKernelHandle(kernel, popped_grid, popped_block, arguments, popped_shared,
                                      stream);
  }

  FakeAgent& agent_;
};

TEST_F(RuntimeLaunchTest, CompiledLaunchesReachTheRing) {
  EXPECT_EQ(LaunchScale(8, 256), cudaSuccess);

  EXPECT_EQ(agent_.RecordsOf(RecordKind::kLaunch).size(), 1u);
  EXPECT_EQ(error_state::PeekLast(), cudaSuccess);
}

TEST_F(RuntimeLaunchTest, RefusalsUseTheRuntimesCodesAndAreRemembered) {
  EXPECT_EQ(LaunchScale(0, 256), cudaErrorInvalidConfiguration);
  EXPECT_EQ(error_state::PeekLast(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(error_state::GetLast(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(error_state::GetLast(), cudaSuccess);
  EXPECT_EQ(LaunchScale(1, 1025), cudaErrorInvalidConfiguration);
  EXPECT_EQ(LaunchScale(1, 32, 100'000), cudaErrorInvalidValue);
  EXPECT_EQ(launch::LaunchKernel(&missing_stub, 1, 1, nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(launch::LaunchKernel(&launch_table_stub, 1, 1, nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  std::byte pack[40] = {};
  unsigned char flag = 0;
  void* out = nullptr;
  void* arguments[] = {pack, &flag, &out};
  EXPECT_EQ(launch::LaunchKernel(&tile_stub, 1, 512, arguments, 0, nullptr), cudaErrorInvalidValue);
  dim3 dims;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(launch::PopConfiguration(&dims, &dims, &shared, &stream),
            cudaErrorMissingConfiguration);
}

TEST_F(RuntimeLaunchTest, LaunchAttributesSayClusterAndCooperation) {
  cudaLaunchAttribute attributes[3] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {2, 1, 1};
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  attributes[2].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  cudaLaunchConfig_t config = {};
  config.gridDim = 4;
  config.blockDim = 64;
  config.attrs = attributes;
  config.numAttrs = 3;

  const gpu::LaunchShape shape = launch::ShapeOf(config);

  EXPECT_EQ(shape.cluster.x, 2u);
  EXPECT_TRUE(shape.cooperative);
  std::uint64_t out = 0;
  float factor = 1;
  unsigned count = 2;
  void* arguments[] = {&out, &factor, &count};
  EXPECT_EQ(launch::LaunchKernelExC(&config, &scale_stub, arguments), cudaSuccess);
}

TEST_F(RuntimeLaunchTest, AttributesComeFromTheCubin) {
  cudaFuncAttributes attributes;
  ASSERT_EQ(function::GetAttributes(&attributes, &tile_stub), cudaSuccess);
  EXPECT_EQ(attributes.sharedSizeBytes, 4096u);
  EXPECT_EQ(attributes.constSizeBytes, 16u);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 256);
  EXPECT_EQ(attributes.binaryVersion, 90);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 49152 - 4096);
  EXPECT_EQ(attributes.preferredShmemCarveout, -1);

  EXPECT_EQ(function::SetAttribute(&tile_stub, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   232448 - 4096 + 1),
            cudaErrorInvalidValue);
  EXPECT_EQ(function::SetAttribute(&tile_stub, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   232448 - 4096),
            cudaSuccess);
  ASSERT_EQ(function::GetAttributes(&attributes, &tile_stub), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 232448 - 4096);
}

TEST_F(RuntimeLaunchTest, KernelHandlesAnswerLikeSymbols) {
  cudaKernel_t kernel = nullptr;
  cudaFunction_t function = nullptr;
  ASSERT_EQ(function::GetKernel(&kernel, &scale_stub), cudaSuccess);
  ASSERT_EQ(function::GetFunctionBySymbol(&function, &scale_stub), cudaSuccess);
  const char* name = nullptr;
  std::size_t count = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;

  EXPECT_EQ(function::GetName(&name, kernel), cudaSuccess);
  EXPECT_STREQ(name, "scale");
  EXPECT_EQ(function::GetParamCount(kernel, &count), cudaSuccess);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(function::GetParamInfo(function, 2, &offset, &bytes), cudaSuccess);
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(function::GetParamInfo(kernel, 3, &offset, &bytes), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunchTest, SymbolsHaveAddresses) {
  void* address = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(registration::GetSymbolAddress(&address, &launch_table_stub), cudaSuccess);
  EXPECT_NE(address, nullptr);
  EXPECT_EQ(registration::GetSymbolSize(&bytes, &launch_table_stub), cudaSuccess);
  EXPECT_EQ(bytes, 256u);
  EXPECT_EQ(registration::GetSymbolSize(&bytes, &scale_stub), cudaErrorInvalidSymbol);
}

}  // namespace
}  // namespace eidolon::shim::cuda_runtime
