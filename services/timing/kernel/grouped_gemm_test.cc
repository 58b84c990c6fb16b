#include "services/timing/kernel/grouped_gemm.h"

#include <gtest/gtest.h>

#include "services/contract/workload/grouped_gemm.h"
#include "services/timing/kernel/launch_test.h"

namespace eidolon::timing::kernel {
namespace {

using Ragged = workload::GroupedGemm::Ragged;

LaunchBuilder Kernel() { return LaunchBuilder("grouped").Grid(132).Block(384).Pointers(3); }

std::string Slot(std::uint64_t m, std::uint32_t groups, std::uint32_t ragged) {
  StructBytes bytes(40);
  bytes.Set(0, workload::kGroupedGemmTag)
      .Set(8, m)
      .Set(16, std::uint64_t{512})
      .Set(24, std::uint64_t{64});
  return bytes.Set(32, groups).Set(36, ragged).bytes();
}

TEST(GroupedGemmTest, StandsInTheLastSlot) {
  const auto found = FindGroupedGemm(Kernel().AddBytes(Slot(4096, 8, 1), 8).Build());

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->m, 4096u);
  EXPECT_EQ(found->n, 512u);
  EXPECT_EQ(found->k, 64u);
  EXPECT_EQ(found->groups, 8u);
  EXPECT_EQ(found->ragged, Ragged::kM);
}

TEST(GroupedGemmTest, IsNotSeenInOtherParameters) {
  EXPECT_FALSE(FindGroupedGemm(Kernel().Build()).has_value());
  EXPECT_FALSE(FindGroupedGemm(Kernel().AddBytes(std::string(40, 'x'), 8).Build()).has_value());
  EXPECT_FALSE(FindGroupedGemm(Kernel().AddBytes(Slot(4096, 8, 1), 8).Add(1).Build()).has_value());
}

TEST(GroupedGemmTest, RefusesSizesThatNoGemmHas) {
  EXPECT_FALSE(FindGroupedGemm(Kernel().AddBytes(Slot(0, 8, 1), 8).Build()).has_value());
  EXPECT_FALSE(FindGroupedGemm(Kernel().AddBytes(Slot(4096, 0, 1), 8).Build()).has_value());
  EXPECT_FALSE(FindGroupedGemm(Kernel().AddBytes(Slot(4096, 8, 9), 8).Build()).has_value());
  EXPECT_FALSE(FindGroupedGemm(Kernel().AddBytes(Slot(~0ull, 8, 1), 8).Build()).has_value());
  KernelLaunch cut = Kernel().AddBytes(Slot(4096, 8, 1), 8).Build();
  cut.parameters.resize(cut.parameters.size() - 8);
  EXPECT_FALSE(FindGroupedGemm(cut).has_value());
}

}  // namespace
}  // namespace eidolon::timing::kernel
