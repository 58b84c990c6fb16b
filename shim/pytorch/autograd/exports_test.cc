// Reports as PyTorch's allocator makes them, from the program's thread and from one that runs a
// backward pass.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <thread>
#include <vector>

#include "services/contract/ring/memory_block.h"
#include "shim/core/fake_agent.h"
#include "shim/core/session.h"
#include "shim/core/thread_role.h"
#include "shim/gpu/device/device.h"

namespace c10 {
struct Device {
  std::int8_t type;
  std::int8_t index;
};
void reportMemoryUsageToProfiler(void* block, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device);
}  // namespace c10

namespace eidolon::shim::autograd {
namespace {

constexpr std::int8_t kCpuDevice = 0, kGpuDevice = 1;

void ReportBlock(std::uintptr_t block, std::int64_t bytes, std::int8_t type = kGpuDevice,
                 std::int8_t index = 0) {
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(block), bytes, 0, 0, {type, index});
}

template <typename Body>
void InBackward(Body body) {
  std::thread([&body] {
    const core::BackwardScope scope;
    body();
  }).join();
}

TEST(AutogradTest, TellsWhatBackwardPassesGiveBack) {
  core::FakeAgent& agent = core::FakeAgent::Start();
  ASSERT_NE(core::Session::Get(), nullptr);
  ASSERT_EQ(gpu::DeviceCount(), 2);
  agent.Reset();

  for (int iteration = 0; iteration < 3; ++iteration) {
    ReportBlock(0x1000, 4096);
    ReportBlock(0x2000, 512);
    ReportBlock(0x3000, 1 << 20, kCpuDevice);
    ReportBlock(0x4000, 1 << 21, kGpuDevice, -1);
    ReportBlock(0x5000, 1024, kGpuDevice, 1);
    InBackward([] {
      ReportBlock(0x6000, 1 << 20);
      ReportBlock(0x1000, -4096);
      ReportBlock(0x3000, -(1 << 20), kCpuDevice);
      ReportBlock(0x5000, -1024, kGpuDevice, 1);
    });
    ReportBlock(0x2000, -512);
    ReportBlock(0x6000, -(1 << 20));
  }
  ReportBlock(0x7000, 512, kGpuDevice, 1);

  const auto told = agent.RecordsOf(ring::RecordKind::kActivations);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].As<ring::MemoryRecord>().used, 4096u);
  EXPECT_EQ(told[0].header().device, 0);
  EXPECT_EQ(told[1].As<ring::MemoryRecord>().used, 1024u);
  EXPECT_EQ(told[1].header().device, 1);
}

TEST(AutogradTest, TellsBlocksWhileATimelineIsMade) {
  core::FakeAgent& agent = core::FakeAgent::Start();
  ASSERT_NE(core::Session::Get(), nullptr);
  ASSERT_EQ(gpu::DeviceCount(), 2);
  agent.Reset();
  ReportBlock(0x100000, 512);
  agent.cursors().wants_timeline.store(1);

  ReportBlock(0x200000, 4096, kGpuDevice, 1);
  InBackward([] {
    ReportBlock(0x300000, 1024, kGpuDevice, 1);
    ReportBlock(0x200000, -4096, kGpuDevice, 1);
  });
  ReportBlock(0x300000, -1024, kGpuDevice, 1);
  agent.cursors().wants_timeline.store(0);
  ReportBlock(0x100000, -512);

  struct Told {
    std::uint64_t address;
    std::int64_t bytes;
    std::uint32_t is_activation;
  };
  const Told wanted[] = {
      {0x200000, 4096, 0}, {0x300000, 1024, 0}, {0x200000, -4096, 1}, {0x300000, -1024, 0}};
  const auto told = agent.RecordsOf(ring::RecordKind::kMemoryBlock);
  ASSERT_EQ(told.size(), std::size(wanted));
  for (std::size_t i = 0; i < told.size(); ++i) {
    const auto& record = told[i].As<ring::MemoryBlockRecord>();
    EXPECT_EQ(record.address, wanted[i].address) << i;
    EXPECT_EQ(record.bytes, wanted[i].bytes) << i;
    EXPECT_EQ(record.is_activation, wanted[i].is_activation) << i;
    EXPECT_EQ(record.header.device, 1) << i;
  }
}

}  // namespace
}  // namespace eidolon::shim::autograd
