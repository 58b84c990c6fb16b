// Modules, functions, launches and graphs of the driver face.
#include "shim/vendor/cuda_driver/module.h"

#include <gtest/gtest.h>

#include <cstring>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/module/sample.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_driver/entry_point.h"
#include "shim/vendor/cuda_driver/function.h"
#include "shim/vendor/cuda_driver/graph.h"
#include "shim/vendor/cuda_driver/launch.h"

namespace eidolon::shim::cuda_driver {
namespace {

using core::FakeAgent;
using ring::RecordKind;

class DriverModuleTest : public testing::Test {
 protected:
  DriverModuleTest() : agent_(FakeAgent::Start()) {
    EXPECT_EQ(gpu::SetDevice(0), gpu::Status::kSuccess);
    EXPECT_EQ(module::LoadData(&module_, gpu::SampleFatBinary().data()), CUDA_SUCCESS);
    EXPECT_EQ(module::GetFunction(&scale_, module_, "scale"), CUDA_SUCCESS);
    EXPECT_EQ(module::GetFunction(&tile_, module_, "tile"), CUDA_SUCCESS);
    agent_.Reset();
  }
  ~DriverModuleTest() override { module::Unload(module_); }

  FakeAgent& agent_;
  CUmodule module_ = nullptr;
  CUfunction scale_ = nullptr;
  CUfunction tile_ = nullptr;
  CUdeviceptr out_ = 0;
  float factor_ = 2;
  unsigned count_ = 5;
  void* arguments_[3] = {&out_, &factor_, &count_};
};

TEST_F(DriverModuleTest, FindsWhatAModuleHolds) {
  CUfunction function = nullptr;
  EXPECT_EQ(module::GetFunction(&function, module_, "none"), CUDA_ERROR_NOT_FOUND);
  unsigned count = 0;
  EXPECT_EQ(module::GetFunctionCount(&count, module_), CUDA_SUCCESS);
  EXPECT_EQ(count, 4u);
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(module::GetGlobal(&address, &bytes, module_, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(module::GetGlobal(&address, &bytes, module_, "none"), CUDA_ERROR_NOT_FOUND);
  CUmodule owner = nullptr;
  EXPECT_EQ(function::GetModule(&owner, scale_), CUDA_SUCCESS);
  EXPECT_EQ(owner, module_);
}

TEST_F(DriverModuleTest, LibrariesGiveKernels) {
  CUlibrary library = nullptr;
  ASSERT_EQ(module::LoadLibraryData(&library, gpu::SampleFatBinary().data(), nullptr, nullptr, 0,
                                    nullptr, nullptr, 0),
            CUDA_SUCCESS);
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  int value = 0;
  EXPECT_EQ(module::GetKernel(&kernel, library, "tile"), CUDA_SUCCESS);
  EXPECT_EQ(function::GetKernelFunction(&function, kernel), CUDA_SUCCESS);
  EXPECT_EQ(function::GetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 4096);
  EXPECT_EQ(module::UnloadLibrary(library), CUDA_SUCCESS);
  EXPECT_EQ(module::GetKernel(&kernel, library, "tile"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(function::GetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverModuleTest, LaunchesFromPointersAndFromABuffer) {
  EXPECT_EQ(launch::LaunchKernel(scale_, 4, 1, 1, 64, 1, 1, 0, nullptr, arguments_, nullptr),
            CUDA_SUCCESS);
  std::byte packed[16];
  std::memcpy(packed, &out_, 8);
  std::memcpy(packed + 8, &factor_, 4);
  std::memcpy(packed + 12, &count_, 4);
  std::size_t bytes = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  EXPECT_EQ(launch::LaunchKernel(scale_, 4, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_SUCCESS);
  EXPECT_EQ(launch::LaunchKernel(scale_, 4, 1, 1, 64, 1, 1, 0, nullptr, arguments_, extra),
            CUDA_ERROR_INVALID_VALUE);

  const auto launches = agent_.RecordsOf(RecordKind::kLaunch);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].As<ring::LaunchRecord>().work, launches[1].As<ring::LaunchRecord>().work);
}

TEST_F(DriverModuleTest, RefusesWithTheDriversCodes) {
  EXPECT_EQ(launch::LaunchKernel(scale_, 0, 1, 1, 64, 1, 1, 0, nullptr, arguments_, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch::LaunchKernel(nullptr, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments_, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  CUmodule module = nullptr;
  EXPECT_EQ(module::LoadData(&module, ".target sm_100\n.entry f() { ret; } // for a later GPU"),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(module::LoadData(&module, "certainly not the text of a PTX module, whatever it says"),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(module::Load(&module, "/nonexistent/file.cubin"), CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(DriverModuleTest, OccupancyFollowsTheKernel) {
  int blocks = 0;
  EXPECT_EQ(function::MaxActiveBlocks(&blocks, tile_, 256, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(function::MaxActiveBlocks(&blocks, tile_, 512, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 0);  // More threads than its bounds allow.
  int grid = 0;
  int threads = 0;
  EXPECT_EQ(function::MaxPotentialBlock(&grid, &threads, tile_, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(threads, 256);
  EXPECT_EQ(grid, 8 * 132);
  std::size_t bytes = 0;
  EXPECT_EQ(function::AvailableDynamicShared(&bytes, tile_, 8, 256), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 29184u - 1024u - 4096u - 0u);
}

TEST_F(DriverModuleTest, GraphsTakeBothVersionsOfKernelNodes) {
  CUgraph graph = nullptr;
  ASSERT_EQ(graph::Create(&graph, 0u), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS_v1 first = {scale_, 2, 1, 1, 32, 1, 1, 0, arguments_, nullptr};
  CUDA_KERNEL_NODE_PARAMS_v2 second = {};
  CUgraphNode nodes[2] = {};
  ASSERT_EQ(graph::AddKernel1(&nodes[0], graph, nullptr, 0, &first), CUDA_SUCCESS);
  ASSERT_EQ(graph::GetKernel(nodes[0], &second), CUDA_SUCCESS);
  EXPECT_EQ(second.func, scale_);
  EXPECT_EQ(second.gridDimX, 2u);
  ASSERT_EQ(graph::AddKernel(&nodes[1], graph, nodes, 1, &second), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(graph::Instantiate(&exec, graph, 0ull), CUDA_SUCCESS);
  ASSERT_EQ(graph::Launch(exec, nullptr), CUDA_SUCCESS);

  EXPECT_EQ(agent_.RecordsOf(RecordKind::kGraphLaunch).size(), 1u);
  EXPECT_EQ(graph::DestroyExec(exec), CUDA_SUCCESS);
  EXPECT_EQ(graph::Destroy(graph), CUDA_SUCCESS);
}

TEST_F(DriverModuleTest, FunctionsAreFoundByNameAndVersion) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  EXPECT_EQ(entry_point::Get("cuLaunchKernel", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_NE(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(entry_point::Get("cuNothing", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(entry_point::Get("cuLaunchKernelEx", &function, 11000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(entry_point::GetOrFail("cuNothing", &function, 12000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(entry_point::Get("cuInit", &function, 99000, 0, &status), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver
