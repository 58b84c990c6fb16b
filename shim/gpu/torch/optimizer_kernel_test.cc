#include "shim/gpu/torch/optimizer_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "services/contract/ring/memory_block.h"
#include "shim/core/fake_agent.h"
#include "shim/gpu/device/device.h"

namespace eidolon::shim::gpu {
namespace {

using torch_layout::ArgumentSpace;
using torch_layout::TensorLists;

constexpr char kFusedAdam[] =
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_32FusedOptimizerTenso"
    "rListMetadataILi4EEENS1_20FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE1ELb0EEEJPKf"
    "EEEvT_T0_DpT1_";

// One tensor of 100 elements, and the block of parameters of a launch over it.
struct Step {
  const TensorLists lists = torch_layout::TorchLists(4, 8, false, ArgumentSpace::kLarge);
  std::vector<std::byte> block = std::vector<std::byte>((lists.BytesOfTables() + 4 + 7) / 8 * 8);
  std::vector<cubin::Parameter> parameters = {{0, static_cast<std::uint32_t>(block.size())}};

  Step() {
    for (std::uint64_t list = 0; list < 4; ++list) {
      Set(8 * lists.tensors * list, 0x1000 * (list + 1));
    }
    Set(lists.CountsAt(), 100);
  }
  void Set(std::size_t at, std::uint64_t value) {
    std::memcpy(block.data() + at, &value, sizeof(value));
  }
};

TEST(OptimizerKernelTest, ALaunchOfAnOptimizerTellsItsTensors) {
  const Step step;

  const auto tensors = OptimizerKernel(kFusedAdam, step.parameters).TensorsOf(step.block, 1);

  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[0].address, 0x1000u);
  EXPECT_EQ(tensors[0].role, torch_layout::ListRole::kParameters);
  EXPECT_EQ(tensors[1].role, torch_layout::ListRole::kGradients);
  EXPECT_EQ(tensors[3].address, 0x4000u);
  EXPECT_EQ(tensors[3].bytes, 400u);
}

TEST(OptimizerKernelTest, OtherKernelsTellNone) {
  const Step step;
  EXPECT_TRUE(OptimizerKernel("_Z4fillPfi", step.parameters).TensorsOf(step.block, 1).empty());
  EXPECT_TRUE(OptimizerKernel(kFusedAdam, {}).TensorsOf(step.block, 1).empty());
  EXPECT_TRUE(OptimizerKernel(kFusedAdam, step.parameters)
                  .TensorsOf(std::span(step.block).first(8), 1)
                  .empty());
}

TEST(OptimizerKernelTest, TheAgentIsToldWhileATimelineIsMade) {
  core::FakeAgent& agent = core::FakeAgent::Start();
  core::Session* const session = core::Session::Get();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(DeviceCount(), 2);
  agent.Reset();
  const Step step;
  static Kernel& kernel = *new Kernel;  // Keeps what is known of it for good.
  kernel.name = kFusedAdam;
  kernel.parameters = step.parameters;

  TellOptimizerTensors(*session, kernel, 1, step.block, 1);
  agent.cursors().wants_timeline.store(1);
  TellOptimizerTensors(*session, kernel, 1, step.block, 1);
  agent.cursors().wants_timeline.store(0);

  const auto told = agent.RecordsOf(ring::RecordKind::kOptimizerTensors);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].header().device, 1);
  EXPECT_EQ(told[0].As<ring::OptimizerTensorsRecord>().count, 4u);
  const auto* const tensors = reinterpret_cast<const ring::OptimizerTensor*>(
      told[0].bytes.data() + sizeof(ring::OptimizerTensorsRecord));
  EXPECT_EQ(tensors[2].address, 0x3000u);
  EXPECT_EQ(tensors[2].role, ring::TensorRole::kOptimizerState);
}

}  // namespace
}  // namespace eidolon::shim::gpu
