#include "services/agent/cost/cost_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "eidolon/common/v1/common.pb.h"
#include "services/contract/workload/work.h"

namespace eidolon::agent::cost {
namespace {

// A kernel of one parameter.
std::vector<std::byte> Kernel(std::string_view name, std::uint32_t blocks, std::uint64_t step) {
  const workload::ParameterSlot slot{0, sizeof(step)};
  const std::size_t bytes = sizeof(workload::Kernel) + name.size() + sizeof(slot) + sizeof(step);
  workload::Kernel work{};
  work.header = {workload::WorkKind::kKernel, static_cast<std::uint32_t>(bytes)};
  work.grid = {blocks, 1, 1};
  work.block = {128, 1, 1};
  work.name_bytes = static_cast<std::uint32_t>(name.size());
  work.parameter_count = 1;
  work.parameter_bytes = sizeof(step);
  std::vector<std::byte> definition(bytes);
  std::byte* to = definition.data();
  const auto put = [&to](const void* from, std::size_t size) {
    std::memcpy(to, from, size);
    to += size;
  };
  put(&work, sizeof(work));
  put(name.data(), name.size());
  put(&slot, sizeof(slot));
  put(&step, sizeof(step));
  return definition;
}

TEST(CostCacheTest, KernelsOfOneShapeAreAlikeWhateverTheirNumbers) {
  CostCache costs(132);
  const std::uint32_t first = costs.Intern(Kernel("adam", 8, 1));
  const std::uint32_t second = costs.Intern(Kernel("adam", 8, 2));
  const std::uint32_t larger = costs.Intern(Kernel("adam", 9, 2));
  const std::uint32_t other = costs.Intern(Kernel("lamb", 8, 2));

  EXPECT_NE(first, second);
  EXPECT_EQ(costs.entry(first).alike, first);
  EXPECT_EQ(costs.entry(second).alike, first);
  EXPECT_EQ(costs.entry(larger).alike, larger);
  EXPECT_EQ(costs.entry(other).alike, other);
}

TEST(CostCacheTest, KnownSourcesAreTakenAsTheyAre) {
  CostCache costs(132);

  EXPECT_EQ(costs.KnownSource(common::v1::ESTIMATE_SOURCE_MEASURED), estimate::Source::kMeasured);
  EXPECT_EQ(costs.KnownSource(common::v1::ESTIMATE_SOURCE_MODELLED), estimate::Source::kModelled);
  EXPECT_EQ(costs.KnownSource(common::v1::ESTIMATE_SOURCE_ASSUMED), estimate::Source::kAssumed);
  EXPECT_EQ(costs.unknown_sources(), 0u);
}

TEST(CostCacheTest, ASourceThatIsMissingOrUnknownIsAssumedAndCounted) {
  CostCache costs(132);

  EXPECT_EQ(costs.KnownSource(common::v1::ESTIMATE_SOURCE_UNSPECIFIED), estimate::Source::kAssumed);
  EXPECT_EQ(costs.KnownSource(static_cast<common::v1::EstimateSource>(77)),
            estimate::Source::kAssumed);
  EXPECT_EQ(costs.unknown_sources(), 2u);
}

}  // namespace
}  // namespace eidolon::agent::cost
