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

std::uint32_t ShareOfGemm(std::uint32_t multiprocessors, std::uint64_t m, std::uint64_t n,
                          std::uint64_t k) {
  CostCache costs(multiprocessors);
  workload::Gemm work;
  work.m = m;
  work.n = n;
  work.k = k;
  work.batch = 1;
  std::vector<std::byte> definition(sizeof(work));
  std::memcpy(definition.data(), &work, sizeof(work));
  return costs.entry(costs.Intern(definition)).work.share;
}

// Blocks of cuBLAS's kernels on an H100, one for each multiprocessor at a time: e2e/measured/h100,
// gemms.jsonl.gz.
TEST(CostCacheTest, AGemmFillsMultiprocessorsAsTheLibraryLetsIt) {
  constexpr std::uint32_t kMultiprocessors = 132;
  const struct {
    std::uint64_t m, n, k;
    double blocks;
  } rows[] = {{256, 512, 8192, 128},  {512, 512, 256, 96},    {256, 1024, 512, 96},
              {256, 2048, 256, 128},  {512, 1024, 1024, 128}, {2048, 256, 8192, 128},
              {256, 4096, 1024, 128}, {512, 4096, 512, 128},  {1024, 512, 4096, 128}};
  for (const auto& [m, n, k, blocks] : rows) {
    EXPECT_NEAR(ShareOfGemm(kMultiprocessors, m, n, k) / 1024.0, blocks / kMultiprocessors, 0.1)
        << m << " x " << n << " x " << k;
  }
  EXPECT_LE(ShareOfGemm(kMultiprocessors, 256, 256, 256), device::kWholeShare / 2);
}

// Transformer Engine's grouped GEMMs of DeepSeek V2 and V3 on B200, on four streams, take as long
// each as one alone, or longer: group_matmul of configs/system/b200_bf16_ceperm.json in
// github.com/MooreThreads/SimuMax (128 x 2048 x 7168: 11.0 us each of four, 11.4 alone).
TEST(CostCacheTest, AGroupedGemmOfOneExpertLeavesNothingToTheNextOne) {
  constexpr std::uint32_t kMultiprocessors = 148;
  const struct {
    std::uint64_t m, n, k;
  } rows[] = {{128, 4096, 7168}, {128, 7168, 4096}, {128, 7168, 2048}, {128, 2048, 7168},
              {154, 3072, 5120}, {154, 5120, 3072}, {154, 5120, 1536}, {154, 1536, 5120}};
  for (const auto& [m, n, k] : rows) {
    EXPECT_EQ(ShareOfGemm(kMultiprocessors, m, n, k), device::kWholeShare)
        << m << " x " << n << " x " << k;
  }
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
