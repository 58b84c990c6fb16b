// Decoding as PyTorch's scaled_dot_product_attention launches it: a query for each sequence, heads
// that share keys. Beside it stand published times (testdata/decode_rows.csv), of shapes chosen by
// a hash: FlashAttention 2's where a stack of the GPU calls it, else the median of all stacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "services/base/text.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/dnn_test.h"
#include "services/timing/kernel/launch_test.h"
#include "services/timing/model/estimator.h"
#include "source_tree.h"

namespace eidolon::timing::model {
namespace {

struct Decoding {
  std::int64_t head_size = 0, heads = 0, key_heads = 0, sequences = 0, keys = 0;
  double KeyBytes() const {
    return 4.0 * static_cast<double>(sequences * key_heads * keys * head_size);
  }
};

const gpu_model::GpuModel& DecodingGpu(const std::string& name) {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find(name);
}

// Queries of the heads that share keys stand below each other, which needs no more blocks.
kernel::KernelLaunch SplitKeys(const Decoding& d, std::uint32_t parts) {
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  kernel::StructBytes params(472);
  params.Set(96, number(d.key_heads)).Set(100, number(d.key_heads)).Set(104, 1);
  params.Set(176, number(d.sequences)).Set(180, number(d.heads / d.key_heads));
  params.Set(184, number(d.keys)).Set(204, number(d.head_size));
  const std::string head =
      base::StrCat("ILi", d.head_size, "ELi64ELi", d.head_size == 64 ? 256 : 128,
                   "ELi4ELb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_traits"
                   "ILi",
                   d.head_size, "ELi64ELi", d.head_size == 64 ? 256 : 128, "ELi4ES3_EE");
  return kernel::LaunchBuilder(
             base::StrCat("_ZN13pytorch_flash24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_traits",
                          head, "Lb0ELb0ELb0ELb0ELb1ELb0ELb1ELb0EEEvNS_16Flash_fwd_paramsE"))
      .Grid(1, parts, static_cast<std::uint32_t>(d.sequences * d.key_heads))
      .Block(128)
      .AddBytes(params.bytes(), 8)
      .Build();
}

kernel::DnnGraph Fused(const Decoding& d) {
  constexpr std::uint32_t kType = 14, kMatmul = 19, kPointwise = 13, kExp = 13;
  const auto tensor = [](std::int64_t uid, const std::vector<std::int64_t>& dims, bool is_virtual) {
    return kernel::TensorOf(uid, dims, kType, is_virtual);
  };
  kernel::DnnGraph graph;
  graph.tensors = {tensor(1, {d.sequences, d.heads, 1, d.head_size}, false),
                   tensor(2, {d.sequences, d.key_heads, d.head_size, d.keys}, false),
                   tensor(3, {d.sequences, d.heads, 1, d.keys}, true),
                   tensor(4, {d.sequences, d.key_heads, d.keys, d.head_size}, false),
                   tensor(5, {d.sequences, d.heads, 1, d.head_size}, false)};
  graph.operations = {kernel::OperationOf(kMatmul, {1, 2}, {3}),
                      kernel::OperationOf(kPointwise, {3}, {3}, kExp),
                      kernel::OperationOf(kMatmul, {3, 4}, {5})};
  return graph;
}

bool CallsFlash2(const gpu_model::GpuModel& gpu) {
  return gpu.compute_major == 8 || gpu.compute_major == 12;
}

// The time that one call occupies a stream, with the gap to the next one.
double CallSeconds(const gpu_model::GpuModel& gpu, const Decoding& d) {
  Estimator estimator(nullptr);
  const double gap = gpu.launch_gap.Seconds();
  if (!CallsFlash2(gpu)) return estimator.Of(gpu, Fused(d)).duration.Seconds() + gap;
  return estimator.Of(gpu, SplitKeys(d, 1)).duration.Seconds() + gap;
}

TEST(DecodingTest, AgreesWithPublishedTimes) {
  constexpr double kMeanError = 0.15;
  constexpr int kRows = 40;
  std::ifstream in(EIDOLON_SOURCE_DIR "/services/timing/model/testdata/decode_rows.csv");
  std::map<std::string, std::vector<double>> errors;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const auto words = base::Split(line, ',');
    ASSERT_EQ(words.size(), 7u) << line;
    const auto size = [&](std::size_t i) { return *base::ParseInteger(words[i]); };
    // One new token behind the cached ones.
    const Decoding d = {size(1), size(2), size(3), size(4), size(5) + 1};
    const std::string gpu(words[0]);
    errors[gpu].push_back(CallSeconds(DecodingGpu(gpu), d) * 1e6 / *base::ParseNumber(words[6]) -
                          1);
  }
  EXPECT_EQ(errors.size(), 7u);
  for (const auto& [gpu, list] : errors) {
    double absolute = 0;
    for (const double error : list) absolute += std::abs(error) / kRows;
    EXPECT_EQ(list.size(), kRows);
    EXPECT_LE(absolute, kMeanError) << gpu;
    std::cout << gpu << ": mean error " << absolute << "\n";
  }
}

// 115 TB/s before, and as long for 64 sequences as for one.
TEST(DecodingTest, ReadsAllKeysOnEveryGpu) {
  for (const char* name : {"A100-SXM4-80GB", "L40S", "H100-SXM5-80GB", "H200-SXM-141GB",
                           "B200-SXM-180GB", "GB200", "RTX-4090"}) {
    const gpu_model::GpuModel& gpu = DecodingGpu(name);
    const auto peak = static_cast<double>(gpu.memory_bytes_per_second);
    Estimator estimator(nullptr);
    for (const std::int64_t sequences : {1, 8, 64}) {
      double shorter = 0;
      for (const std::int64_t keys : {1024, 8192, 65536}) {
        const Decoding d = {128, 32, 8, sequences, keys};
        const double flash = estimator.Of(gpu, SplitKeys(d, 8)).duration.Seconds();
        const double fused = estimator.Of(gpu, Fused(d)).duration.Seconds();
        for (const double seconds : {flash, fused}) {
          EXPECT_GE(seconds, 0.999 * d.KeyBytes() / peak)
              << name << " " << sequences << " " << keys;
          EXPECT_LE(seconds, 30e-6 + 3 * d.KeyBytes() / peak)
              << name << " " << sequences << " " << keys;
        }
        EXPECT_GE(flash, shorter);
        shorter = flash;
      }
    }
  }
}

// The kernel that combines the parts is in the rows and is launched beside.
TEST(DecodingTest, PartsOfKeysCostNoMoreThanTheRowSays) {
  const gpu_model::GpuModel& gpu = DecodingGpu("A100-SXM4-80GB");
  const Decoding d = {128, 32, 8, 4, 16384};
  Estimator estimator(nullptr);
  const auto combine =
      kernel::LaunchBuilder(
          "_ZN13pytorch_flash32flash_fwd_splitkv_combine_kernelI23Flash_fwd_kernel_"
          "traitsILi128ELi64ELi128ELi4ELb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_"
          "traitsILi128ELi64ELi128ELi4ES3_EELi4ELi3ELb1EEEvNS_16Flash_fwd_paramsE")
          .Grid(32)
          .Block(128)
          .Build();
  const double whole = estimator.Of(gpu, SplitKeys(d, 1)).duration.Seconds();
  const double parts = estimator.Of(gpu, SplitKeys(d, 6)).duration.Seconds() +
                       estimator.Of(gpu, combine).duration.Seconds() + gpu.launch_gap.Seconds();
  EXPECT_NEAR(parts, whole, 0.02 * whole);
}

}  // namespace
}  // namespace eidolon::timing::model
