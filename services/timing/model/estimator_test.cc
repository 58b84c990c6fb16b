#include "services/timing/model/estimator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "services/base/text.h"
#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/grouped_gemm.h"
#include "services/timing/gpu_model/at_clock.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/dnn_test.h"
#include "services/timing/kernel/grouped_gemm.h"
#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/recognise.h"
#include "services/timing/kernel/work_key.h"
#include "services/timing/model/power_model.h"
#include "source_tree.h"

namespace eidolon::timing::model {
namespace {

using kernel::LaunchBuilder;

const gpu_model::GpuModel& H100() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find("H100-SXM5-80GB");
}

constexpr char kAddBf16[] =
    "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_"
    "addIN3c108BFloat16EEESt5array"
    "IPcLm3EELb0EEEviT0_T1_";

kernel::KernelLaunch Add(std::int32_t elements) {
  return LaunchBuilder(kAddBf16)
      .Grid(static_cast<std::uint32_t>(elements / 1024 + 1))
      .Block(128)
      .Add(elements)
      .Add(1.0f)
      .Pointers(3)
      .Build();
}

// Points held in memory.
class FakeMeasurements : public Measurements {
 public:
  std::optional<Measurement> Find(const std::string&, base::Digest key) const override {
    const auto found = exact.find(key);
    return found == exact.end() ? std::nullopt : std::optional(Measurement{found->second, 0.01});
  }
  std::vector<Neighbour> Class(const std::string&, base::Digest) const override { return points; }

  std::map<base::Digest, base::Duration> exact;
  std::vector<Neighbour> points;
};

TEST(EstimatorTest, PrefersMeasuredThenInterpolatedThenModelled) {
  FakeMeasurements measurements;
  Estimator estimator(&measurements);
  const kernel::Copy copy{
      .kind = workload::CopyKind::kHostToDevice, .pinned = true, .bytes = 1000, .row_bytes = 1000};
  EXPECT_EQ(estimator.Of(H100(), copy).source, estimate::Source::kModelled);

  measurements.points = {{800, base::Duration::Nanoseconds(80)},
                         {1250, base::Duration::Nanoseconds(125)}};
  const Estimate between = estimator.Of(H100(), copy);
  EXPECT_EQ(between.source, estimate::Source::kInterpolated);
  EXPECT_NEAR(static_cast<double>(between.duration.ps), 100e3, 1e3);

  measurements.exact[kernel::WorkKey(copy)] = base::Duration::Nanoseconds(99);
  const Estimate measured = estimator.Of(H100(), copy);
  EXPECT_EQ(measured.source, estimate::Source::kMeasured);
  EXPECT_EQ(measured.duration, base::Duration::Nanoseconds(99));
}

// A launch of CUTLASS's kernel for groups, with what the shim adds.
kernel::KernelLaunch Grouped(std::uint64_t m, std::uint32_t groups,
                             const std::string& type = "bfloat16_t") {
  kernel::StructBytes gemm(40);
  gemm.Set(0, workload::kGroupedGemmTag).Set(8, m).Set(16, std::uint64_t{4096});
  gemm.Set(24, std::uint64_t{2048}).Set(32, groups).Set(36, std::uint32_t{1});
  return LaunchBuilder("cutlass::device_kernel<GroupProblemShape, cutlass::" + type + ">")
      .Grid(132)
      .Block(384)
      .Pointers(4)
      .AddBytes(gemm.bytes(), 8)
      .Build();
}

TEST(EstimatorTest, AGroupedGemmTakesTheTimeOfItsRowsWhateverItsGrid) {
  Estimator estimator(nullptr);
  const auto seconds = [&](const kernel::KernelLaunch& launch) {
    return estimator.Of(H100(), launch).duration.Seconds();
  };
  // 2 * 32768 * 4096 * 2048 operations, at what a large GEMM reaches.
  const double whole = seconds(Grouped(32768, 8));
  const Estimate alone = estimator.Of(H100(), Grouped(32768, 8));
  const double held = whole * SlowdownAtLimit(H100(), DrawOf(H100(), alone.duty, alone.duration));
  EXPECT_NEAR(2.0 * 32768 * 4096 * 2048 / held, 650e12, 100e12);
  EXPECT_NEAR(seconds(Grouped(65536, 8)) / whole, 2, 0.2);
  EXPECT_GT(seconds(Grouped(32768, 256)), whole);
  EXPECT_LT(seconds(Grouped(32768, 8, "float_e4m3_t")), 0.7 * whole);

  const Estimate estimate = estimator.Of(H100(), Grouped(32768, 8));
  EXPECT_NE(estimate.source, estimate::Source::kAssumed);
  EXPECT_EQ(estimate.family, "gemm");
  EXPECT_GE(estimate.relative_error, 0.3);
}

TEST(EstimatorTest, AGemmBeyondAllNumbersIsTheLongestOperation) {
  Estimator estimator(nullptr);
  const std::uint64_t most = std::uint64_t{1} << 62;
  const Estimate estimate =
      estimator.Of(H100(), kernel::Gemm{.m = most, .n = most, .k = most, .batch = most});
  EXPECT_EQ(estimate.duration, kLongestOperation);
  EXPECT_TRUE(std::isfinite(estimate.relative_error));
}

TEST(EstimatorTest, InterpolatesNothingFromAMeasurementWithinTheLaunchGap) {
  FakeMeasurements measurements;
  Estimator estimator(&measurements);
  const kernel::Copy copy{
      .kind = workload::CopyKind::kHostToDevice, .pinned = true, .bytes = 1000, .row_bytes = 1000};
  measurements.points = {{800, kWithinLaunchGap}, {1250, base::Duration::Nanoseconds(125)}};
  EXPECT_EQ(estimator.Of(H100(), copy).source, estimate::Source::kModelled);

  measurements.exact[kernel::WorkKey(copy)] = kWithinLaunchGap;
  EXPECT_EQ(estimator.Of(H100(), copy).source, estimate::Source::kMeasured);
}

TEST(EstimatorTest, NeverExtrapolatesBeyondTwice) {
  FakeMeasurements measurements;
  Estimator estimator(&measurements);
  measurements.points = {{100, base::Duration::Nanoseconds(80)},
                         {5000, base::Duration::Nanoseconds(125)}};

  EXPECT_EQ(estimator
                .Of(H100(), kernel::Copy{.kind = workload::CopyKind::kHostToDevice,
                                         .pinned = true,
                                         .bytes = 1000,
                                         .row_bytes = 0})
                .source,
            estimate::Source::kModelled);
}

TEST(EstimatorTest, EqualItemsGiveEqualAnswers) {
  Estimator a(nullptr);
  Estimator b(nullptr);

  EXPECT_EQ(a.Of(H100(), Add(12'345)).duration, b.Of(H100(), Add(12'345)).duration);
}

TEST(EstimatorTest, ElementwiseTimeGrowsWithSizeAndIsSane) {
  Estimator estimator(nullptr);
  base::Duration last;
  for (std::int32_t elements = 1; elements < (1 << 30); elements += elements / 3 + 1) {
    const Estimate estimate = estimator.Of(H100(), Add(elements));
    EXPECT_GE(estimate.duration, last) << elements;
    last = estimate.duration;
  }
  // 64 Mi elements x 6 bytes at about 3 TB/s.
  EXPECT_NEAR(estimator.Of(H100(), Add(1 << 26)).duration.Seconds(), 134e-6, 15e-6);
  EXPECT_EQ(estimator.Of(H100(), Add(1 << 26)).family, "elementwise");
}

// One line of testdata/recorded_launches.txt.
struct Recorded {
  std::string family;
  double ns_min = 0;
  double ns_max = 0;
  kernel::KernelLaunch launch;
};

std::vector<Recorded> RecordedLaunches() {
  std::ifstream in(EIDOLON_SOURCE_DIR "/services/timing/model/testdata/recorded_launches.txt");
  std::vector<Recorded> all;
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with('#')) continue;
    Recorded r;
    std::string slots, hex;
    kernel::KernelLaunch& l = r.launch;
    std::istringstream(line) >> r.family >> r.ns_min >> r.ns_max >> l.name >> l.grid.x >>
        l.grid.y >> l.grid.z >> l.block.x >> l.block.y >> slots >> hex;
    for (const std::string_view slot : base::Split(slots, ',')) {
      const auto numbers = base::Split(slot, ':');
      l.slots.push_back({static_cast<std::uint32_t>(*base::ParseInteger(numbers[0])),
                         static_cast<std::uint32_t>(*base::ParseInteger(numbers[1]))});
    }
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      l.parameters.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    all.push_back(r);
  }
  return all;
}

TEST(EstimatorTest, RecordedLaunchesLastWhatIsExpected) {
  Estimator estimator(nullptr);
  const auto recorded = RecordedLaunches();
  for (const Recorded& r : recorded) {
    const Estimate estimate = estimator.Of(H100(), r.launch);
    const double ns = estimate.duration.Seconds() * 1e9;
    EXPECT_EQ(estimate.family, r.family) << r.launch.name;
    EXPECT_EQ(estimate.source, estimate::Source::kModelled) << r.launch.name;
    EXPECT_GE(ns, r.ns_min) << r.launch.name;
    EXPECT_LE(ns, r.ns_max) << r.launch.name;
  }
  EXPECT_GT(recorded.size(), 40u);
}

// Memory at its peak for what the operands hold beyond L2: nothing is faster.
TEST(EstimatorTest, NothingMovesMoreThanMemoryGives) {
  const auto catalog = *gpu_model::GpuCatalog::Load("");
  const auto recorded = RecordedLaunches();
  Estimator estimator(nullptr);
  for (const char* name : {"A100-SXM4-80GB", "L40S", "H100-SXM5-80GB", "H200-SXM-141GB",
                           "B200-SXM-180GB", "RTX-PRO-6000-Server"}) {
    const gpu_model::GpuModel& gpu = **catalog.Find(name);
    const auto least = [&](double bytes) {
      return 0.999 * (bytes - static_cast<double>(gpu.l2_bytes)) /
             static_cast<double>(gpu.memory_bytes_per_second);
    };
    for (const Recorded& r : recorded) {
      const auto demand = kernel::Recognise(r.launch, kernel::ParseKernelName(r.launch.name));
      EXPECT_GE(estimator.Of(gpu, r.launch).duration.Seconds(), least(demand.bytes))
          << name << ": " << r.launch.name;
    }
    for (const std::int32_t elements : {1 << 24, 1 << 28, 1 << 30}) {
      EXPECT_GE(estimator.Of(gpu, Add(elements)).duration.Seconds(), least(6.0 * elements)) << name;
    }
    for (const std::uint64_t rows : {1, 16, 4096}) {
      for (const std::uint64_t k : {4096, 65'536}) {
        const kernel::Gemm gemm = {.m = 65'536,
                                   .n = rows,
                                   .k = k,
                                   .type_a = 14,
                                   .type_b = 14,
                                   .type_c = 14,
                                   .type_d = 14,
                                   .compute_type = 68,
                                   .transpose_a = true};
        const double bytes = 2.0 * (65'536.0 * static_cast<double>(k) +
                                    static_cast<double>(rows) * static_cast<double>(k) +
                                    65'536.0 * static_cast<double>(rows));
        EXPECT_GE(estimator.Of(gpu, gemm).duration.Seconds(), least(bytes))
            << name << ": " << rows << " x 65536 x " << k;
      }
    }
  }
}

kernel::DnnTensor EstimatedTensor(std::int64_t uid, const std::vector<std::int64_t>& dims,
                                  bool is_virtual = false) {
  return kernel::TensorOf(uid, dims, 14, is_virtual);
}

// Decoding through FlashAttention 2: 4 sequences of 8192, 8 heads of keys, 4 heads each.
TEST(EstimatorTest, DecodingComesFromPublishedRowsWhereTheArchitectureHasThem) {
  kernel::StructBytes params(464);
  params.Set<std::int32_t>(104, 1).Set<std::int32_t>(176, 4).Set<std::int32_t>(180, 4);
  params.Set<std::int32_t>(184, 8192).Set<std::int32_t>(192, 128);
  const kernel::KernelLaunch launch =
      LaunchBuilder(
          "_ZN13pytorch_flash24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_"
          "traitsILi128ELi64ELi128ELi4ELb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_"
          "traitsILi128ELi64ELi128ELi4ES3_EELb0ELb0ELb0ELb0ELb1ELb0ELb1ELb0EEEvNS_16"
          "Flash_fwd_paramsE")
          .Grid(1, 5, 32)
          .Block(128)
          .AddBytes(params.bytes(), 8)
          .Build();
  const auto catalog = *gpu_model::GpuCatalog::Load("");
  Estimator estimator(nullptr);

  const Estimate a100 = estimator.Of(**catalog.Find("A100-SXM4-80GB"), launch);
  EXPECT_EQ(a100.family, "attention_forward");
  EXPECT_EQ(a100.source, estimate::Source::kInterpolated);
  // Keys and values are read once, 134 MB at no more than 2 TB/s.
  EXPECT_GT(a100.duration.Seconds(), 65e-6);
  EXPECT_LT(a100.duration.Seconds(), 120e-6);
  // Hopper's stacks call FlashAttention 3, which is bound by the same bytes.
  const Estimate h100 = estimator.Of(H100(), launch);
  EXPECT_EQ(h100.source, estimate::Source::kInterpolated);
  EXPECT_GT(h100.duration.Seconds(), 40e-6);
  EXPECT_LT(h100.duration.Seconds(), 65e-6);
}

TEST(EstimatorTest, FusedAttentionGraphs) {
  // 4 x 32 heads, 4096 queries and keys, head size 128: GEMMs with a softmax between.
  kernel::DnnGraph graph;
  graph.tensors = {EstimatedTensor(1, {4, 32, 4096, 128}), EstimatedTensor(2, {4, 32, 128, 4096}),
                   EstimatedTensor(3, {4, 32, 4096, 4096}, true),
                   EstimatedTensor(4, {4, 32, 4096, 128}), EstimatedTensor(5, {4, 32, 4096, 128})};
  graph.operations = {kernel::OperationOf(19, {1, 2}, {3}), kernel::OperationOf(13, {3}, {3}, 13),
                      kernel::OperationOf(19, {3, 4}, {5})};
  Estimator estimator(nullptr);

  const Estimate forward = estimator.Of(H100(), graph);

  EXPECT_EQ(forward.family, "attention_forward");
  // 4 x 128 x 4096^2 x 128 operations at about 609 TFLOP/s.
  EXPECT_NEAR(forward.duration.Seconds(), 1.81e-3, 0.1e-3);
}

TEST(EstimatorTest, DeterministicAttentionStoresItsScoreGradients) {
  // 2 x 8 heads, 8192 queries and keys, head size 128; the queries' gradients in `type`.
  const auto backward = [](std::uint32_t type, bool causal) {
    kernel::DnnGraph graph;
    graph.tensors = {
        EstimatedTensor(1, {2, 8, 8192, 128}),        EstimatedTensor(2, {2, 8, 128, 8192}),
        EstimatedTensor(3, {2, 8, 8192, 8192}, true), EstimatedTensor(4, {2, 8, 8192, 128}),
        EstimatedTensor(5, {2, 8, 8192, 128}),        kernel::TensorOf(6, {2, 8, 8192, 128}, type)};
    const auto gemm = [](const std::vector<std::int64_t>& inputs, std::int64_t output) {
      return kernel::OperationOf(19, inputs, {output});
    };
    graph.operations = {gemm({1, 2}, 3), kernel::OperationOf(13, {3}, {3}, 13),
                        gemm({3, 1}, 4), gemm({1, 2}, 3),
                        gemm({3, 1}, 5), gemm({3, 4}, 6)};
    for (int i = 0; causal && i < 2; ++i) {
      graph.operations.push_back(kernel::OperationOf(13, {3}, {3}, 501));
    }
    const Estimate estimate = Estimator(nullptr).Of(H100(), graph);
    EXPECT_EQ(estimate.family, "attention_backward");
    return estimate.duration.Seconds();
  };
  constexpr std::uint32_t kFloat = 0;
  constexpr std::uint32_t kBfloat16 = 14;

  // 2 GiB are written and read again, at 3.35 TB/s at best; only the reading is not hidden.
  EXPECT_GT(backward(kBfloat16, false), backward(kFloat, false) + 0.1e-3);
  EXPECT_LT(backward(kBfloat16, false), backward(kFloat, false) + 1.6e-3);
  EXPECT_GT(backward(kBfloat16, true), backward(kFloat, true) * 1.01);
  EXPECT_LT(backward(kBfloat16, true), backward(kFloat, true) * 1.3);
}

TEST(EstimatorTest, ConvolutionGraphs) {
  // ResNet-50's 3x3 convolution of 128 channels over 28 x 28 pixels, batch 256.
  kernel::DnnGraph graph;
  graph.tensors = {EstimatedTensor(1, {256, 128, 28, 28}), EstimatedTensor(2, {128, 128, 3, 3}),
                   EstimatedTensor(3, {256, 128, 28, 28})};
  Estimator estimator(nullptr);
  const double flops = 2.0 * 256 * 28 * 28 * 128 * 128 * 9;
  for (const std::uint32_t kind : {10u, 11u, 12u}) {
    kernel::DnnGraph one = graph;
    if (kind == 10) one.operations = {kernel::OperationOf(kind, {1, 2}, {3})};
    if (kind == 11) one.operations = {kernel::OperationOf(kind, {1, 3}, {2})};
    if (kind == 12) one.operations = {kernel::OperationOf(kind, {2, 3}, {1})};
    const Estimate estimate = estimator.Of(H100(), one);
    const double rate = flops / estimate.duration.Seconds();
    EXPECT_EQ(estimate.family, "convolution") << kind;
    EXPECT_GT(rate, 150e12) << kind;
    EXPECT_LT(rate, 700e12) << kind;
  }
}

TEST(EstimatorTest, ConvolutionsOfChannelsFirstRewriteTheirTensors) {
  // 192 to 96 channels over 4 x 256 x 256, windows of 3 x 3. Published of an older cuDNN: 93, 50
  // and 3 us of layout changes in 468 us; 9.19's kernels are some 13 % faster (H100, e2e/measured).
  const auto seconds = [](bool channels_last) {
    kernel::DnnGraph graph;
    // The GEMM is the same kernel for both in three dimensions.
    graph.tensors = {EstimatedTensor(1, {4, 192, 1, 256, 256}),
                     EstimatedTensor(2, {96, 192, 1, 3, 3}),
                     EstimatedTensor(3, {4, 96, 1, 256, 256})};
    for (kernel::DnnTensor& tensor : graph.tensors) {
      const std::int64_t channels = tensor.dims[1], height = tensor.dims[3], width = tensor.dims[4];
      const std::int64_t plane = height * width;
      const auto strides =
          channels_last ? std::vector<std::int64_t>{channels * plane, 1, plane * channels,
                                                    width * channels, channels}
                        : std::vector<std::int64_t>{channels * plane, plane, plane, width, 1};
      std::ranges::copy(strides, tensor.strides);
    }
    graph.operations = {kernel::OperationOf(10, {1, 2}, {3})};
    return Estimator(nullptr).Of(H100(), graph).duration.Seconds();
  };
  EXPECT_NEAR(seconds(false) - seconds(true), 128e-6, 13e-6);
}

TEST(EstimatorTest, CopiesMoveAtTheLinksRate) {
  Estimator estimator(nullptr);
  const kernel::Copy up{.kind = workload::CopyKind::kHostToDevice,
                        .pinned = true,
                        .bytes = 1u << 30,
                        .row_bytes = 1u << 30};
  const kernel::Copy pageable{.kind = workload::CopyKind::kHostToDevice,
                              .pinned = false,
                              .bytes = 1u << 30,
                              .row_bytes = 1u << 30};
  const kernel::Copy inside{.kind = workload::CopyKind::kDeviceToDevice,
                            .pinned = false,
                            .bytes = 1u << 30,
                            .row_bytes = 1u << 30};

  EXPECT_NEAR(estimator.Of(H100(), up).duration.Seconds(), 20e-3, 2e-3);
  EXPECT_GT(estimator.Of(H100(), pageable).duration, estimator.Of(H100(), up).duration);
  EXPECT_NEAR(estimator.Of(H100(), inside).duration.Seconds(), 0.75e-3, 0.1e-3);
}

TEST(EstimatorTest, NothingIsFree) {
  Estimator estimator(nullptr);

  EXPECT_GE(estimator.Of(H100(), kernel::KernelLaunch{}).duration, H100().empty_kernel);
  EXPECT_GE(estimator.Of(H100(), kernel::Gemm{}).duration, H100().empty_kernel);
  EXPECT_GE(estimator.Of(H100(), kernel::DnnGraph{}).duration, H100().empty_kernel);
  EXPECT_GE(estimator.Of(H100(), kernel::Copy{}).duration, H100().empty_kernel);
  EXPECT_GE(estimator.Of(H100(), kernel::LibraryCall{}).duration, H100().empty_kernel);
}

// Returns what `work` takes at `clock`, over what it takes at the GPU's own.
double AtClock(Estimator& estimator, const kernel::WorkItem& work, double clock) {
  const Estimate own = estimator.Of(H100(), work);
  const Estimate carried = estimator.AtClock(own, H100(), gpu_model::AtClock(H100(), clock), work);
  return carried.duration.Seconds() / own.duration.Seconds();
}

TEST(EstimatorAtClockTest, ArithmeticGoesWithTheClockAndMemoryDoesNot) {
  Estimator estimator(nullptr);
  const kernel::WorkItem square = kernel::Gemm{.m = 8192, .n = 8192, .k = 8192};
  const kernel::WorkItem copy = kernel::Copy{.kind = workload::CopyKind::kDeviceToDevice,
                                             .pinned = true,
                                             .bytes = 1 << 30,
                                             .row_bytes = 1 << 30};

  for (const double clock : {0.5, 0.9, 1.1}) {
    EXPECT_NEAR(AtClock(estimator, square, clock), 1 / clock, 0.03) << clock;
    EXPECT_DOUBLE_EQ(AtClock(estimator, Add(1 << 28), clock), 1) << clock;
    EXPECT_DOUBLE_EQ(AtClock(estimator, copy, clock), 1) << clock;
  }
}

TEST(EstimatorAtClockTest, NothingChangesByMoreThanTheClock) {
  Estimator estimator(nullptr);
  for (const std::uint64_t size : {64u, 300u, 700u, 1024u, 2500u, 20000u}) {
    for (const std::uint64_t sum : {64u, 512u, 8192u}) {
      kernel::Gemm gemm{.m = size, .n = size, .k = sum};
      for (const std::uint32_t type : {0u, 14u, 28u}) {  // CUDA_R_32F, _16BF, _8F_E4M3.
        gemm.type_a = gemm.type_b = gemm.type_d = type;
        double last = 0;
        for (const double clock : {1.5, 1.2, 1.01, 0.99, 0.8, 0.25}) {
          const double ratio = AtClock(estimator, gemm, clock);
          EXPECT_GE(ratio, std::max(last, std::min(1.0, 1 / clock) - 1e-6)) << size << " " << sum;
          EXPECT_LE(ratio, std::max(1.0, 1 / clock) + 1e-6) << size << " " << sum << " " << clock;
          last = ratio - 1e-4;
        }
      }
    }
  }
}

TEST(EstimatorAtClockTest, CarriesMeasurementsAndSaysThatTheyAreNoLongerMeasured) {
  FakeMeasurements measurements;
  Estimator estimator(&measurements);
  const kernel::Gemm gemm{.m = 8192, .n = 8192, .k = 8192};
  const kernel::Copy copy{
      .kind = workload::CopyKind::kHostToDevice, .pinned = true, .bytes = 1000, .row_bytes = 1000};
  measurements.exact[kernel::WorkKey(gemm)] = base::Duration::Microseconds(1000);
  measurements.exact[kernel::WorkKey(copy)] = base::Duration::Nanoseconds(99);
  const gpu_model::GpuModel half = gpu_model::AtClock(H100(), 0.5);

  const Estimate slower = estimator.AtClock(estimator.Of(H100(), gemm), H100(), half, gemm);
  EXPECT_NEAR(slower.duration.Seconds(), 2e-3, 0.03e-3);
  EXPECT_EQ(slower.source, estimate::Source::kModelled);
  EXPECT_NEAR(slower.relative_error, 0.29, 0.01);

  const Estimate same = estimator.AtClock(estimator.Of(H100(), copy), H100(), half, copy);
  EXPECT_EQ(same.duration, base::Duration::Nanoseconds(99));
  EXPECT_EQ(same.source, estimate::Source::kMeasured);
}

// An addition is bound by memory, a large GEMM by tensor cores; a small one finds its operands in
// L2. Copies from the host are bound by their link.
TEST(EstimatorTest, SaysWhatWorkTakesOfTheMemory) {
  Estimator estimator(nullptr);
  const auto share = [&](const kernel::WorkItem& item) {
    return estimator.Of(H100(), item).memory_share;
  };
  const kernel::Copy inside{.kind = workload::CopyKind::kDeviceToDevice, .bytes = 1u << 30};
  const kernel::Copy from_host{.kind = workload::CopyKind::kHostToDevice, .bytes = 1u << 30};
  kernel::Gemm large{.m = 8192, .n = 8192, .k = 8192, .transpose_a = true};
  large.type_a = large.type_b = large.type_c = large.type_d = 14;
  kernel::Gemm small = large;
  small.m = small.n = small.k = 1024;

  EXPECT_GT(share(Add(1 << 30)), 0.9);
  EXPECT_GT(share(inside), 0.8);
  EXPECT_EQ(share(from_host), 0);
  EXPECT_NEAR(share(large), 0.07, 0.05);
  EXPECT_EQ(share(small), 0);
}

}  // namespace
}  // namespace eidolon::timing::model
