#include "shim/gpu/torch/grouped_gemm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "services/contract/workload/grouped_gemm.h"
#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"

namespace eidolon::shim::gpu {
namespace {

using Ragged = workload::GroupedGemm::Ragged;

// The preparing kernel's parameters as nvcc lays them out.
std::vector<cubin::Parameter> Layout() {
  std::vector<cubin::Parameter> parameters;
  std::uint32_t at = 0;
  const auto add = [&](int count, std::uint32_t bytes, std::uint32_t alignment) {
    for (int i = 0; i < count; ++i) {
      at = (at + alignment - 1) / alignment * alignment;
      parameters.push_back({at, bytes});
      at += bytes;
    }
  };
  add(15, 8, 8);
  add(3, 4, 4);
  add(5, 24, 8);
  add(2, 8, 8);
  add(2, 1, 1);
  return parameters;
}

struct Block {
  std::vector<cubin::Parameter> parameters = Layout();
  std::vector<std::byte> bytes = std::vector<std::byte>(280);

  template <typename T>
  Block& Set(std::size_t parameter, std::size_t element, T value) {
    std::memcpy(bytes.data() + parameters[parameter].offset + element * sizeof(T), &value,
                sizeof(T));
    return *this;
  }
  Block& Sizes(std::int32_t m, std::int32_t n, std::int32_t k) {
    return Set(15, 0, m).Set(16, 0, n).Set(17, 0, k);
  }
};

TEST(GroupedGemmTest, TheSumOfTheRaggedDimensionComesFromTheOperandsShapes) {
  Block block;
  block.Set<std::uint64_t>(10, 0, 0x1000);
  block.Set<std::int64_t>(21, 0, 4096).Set<std::int64_t>(21, 1, 1024);
  block.Set<std::int64_t>(22, 0, 8).Set<std::int64_t>(22, 1, 2048);

  const auto rows = ReadPreparedGemm(block.parameters, block.Sizes(-1, 512, 1024).bytes, 8);
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->sizes_address, 0x1000u);
  EXPECT_EQ(rows->gemm.m, 4096u);
  EXPECT_EQ(rows->gemm.n, 512u);
  EXPECT_EQ(rows->gemm.groups, 8u);
  EXPECT_EQ(rows->gemm.ragged, Ragged::kM);
  const auto columns = ReadPreparedGemm(block.parameters, block.Sizes(64, -1, 1024).bytes, 8);
  ASSERT_TRUE(columns.has_value());
  EXPECT_EQ(columns->gemm.n, 2048u);
  EXPECT_EQ(columns->gemm.ragged, Ragged::kN);
  const auto inner = ReadPreparedGemm(block.parameters, block.Sizes(64, 512, -1).bytes, 8);
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->gemm.k, 1024u);
  EXPECT_EQ(inner->gemm.ragged, Ragged::kK);
}

TEST(GroupedGemmTest, OtherParametersAreNotRead) {
  Block block;
  block.Sizes(64, 512, 1024);
  EXPECT_TRUE(ReadPreparedGemm(block.parameters, block.bytes, 8).has_value());
  EXPECT_FALSE(ReadPreparedGemm(block.parameters, block.Sizes(-1, 8, 8).bytes, 8).has_value());
  EXPECT_FALSE(ReadPreparedGemm(block.parameters, block.Sizes(64, 512, 1024).bytes, 0));
  block.parameters[21].bytes = 16;
  EXPECT_FALSE(ReadPreparedGemm(block.parameters, block.bytes, 8).has_value());
  block.parameters.pop_back();
  EXPECT_FALSE(ReadPreparedGemm(block.parameters, block.bytes, 8).has_value());
}

TEST(GroupedGemmTest, IsFoundByTheAddressOfItsSizesUntilAnotherIsPreparedThere) {
  core::FakeAgent::Start();
  ASSERT_EQ(SetDevice(1), Status::kSuccess);
  std::uint64_t memory = 0;
  ASSERT_EQ(Allocate(1, 4096, &memory), Status::kSuccess);
  const std::uint64_t words[] = {7, memory + 256, 9};
  const auto block = std::as_bytes(std::span(words));
  EXPECT_FALSE(FindPreparedGemm(block).has_value());

  KeepPreparedGemm({memory + 256, {.tag = workload::kGroupedGemmTag, .m = 1}});
  KeepPreparedGemm({memory + 512, {.tag = workload::kGroupedGemmTag, .m = 2}});
  ASSERT_TRUE(FindPreparedGemm(block).has_value());
  EXPECT_EQ(FindPreparedGemm(block)->m, 1u);
  KeepPreparedGemm({memory + 256, {.tag = workload::kGroupedGemmTag, .m = 3}});
  EXPECT_EQ(FindPreparedGemm(block)->m, 3u);
  EXPECT_EQ(Free(memory), Status::kSuccess);
}

}  // namespace
}  // namespace eidolon::shim::gpu
