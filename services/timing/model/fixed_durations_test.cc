#include "services/timing/model/fixed_durations.h"

#include <gtest/gtest.h>

#include <limits>

#include "services/base/hash.h"
#include "services/contract/workload/copy_kind.h"
#include "services/timing/gpu_model/at_clock.h"
#include "services/timing/kernel/dnn_test.h"
#include "services/timing/model/estimator.h"

namespace eidolon::timing::model {
namespace {

using base::Duration;

gpu_model::GpuModel Gpu() {
  gpu_model::GpuModel gpu;
  gpu.name = "fixed-test";
  gpu.multiprocessors = 100;
  gpu.fixed = {.work = Duration::Microseconds(2),
               .wave = Duration::Microseconds(1),
               .operations_per_second = 100'000'000'000'000,
               .bytes_per_second = 1'000'000'000'000,
               .host_call = Duration::Microseconds(3),
               .host_operator = Duration::Microseconds(4),
               .transfer = Duration::Microseconds(20),
               .transfer_bytes_per_second = 50'000'000'000};
  return gpu;
}

kernel::KernelLaunch Launch(std::uint32_t blocks) {
  kernel::KernelLaunch launch;
  launch.name = "whatever";
  launch.grid = {blocks, 1, 1};
  return launch;
}

TEST(FixedDurationsTest, KernelsLastByTheirWaves) {
  EXPECT_EQ(FixedEstimate(Gpu(), Launch(1)).duration, Duration::Microseconds(3));
  EXPECT_EQ(FixedEstimate(Gpu(), Launch(100)).duration, Duration::Microseconds(3));
  EXPECT_EQ(FixedEstimate(Gpu(), Launch(101)).duration, Duration::Microseconds(4));
}

TEST(FixedDurationsTest, LibraryCallsLastByTheirOperationsAndBytes) {
  const kernel::Gemm gemm{.m = 1000, .n = 1000, .k = 1000, .batch = 5};
  EXPECT_EQ(FixedEstimate(Gpu(), gemm).duration, Duration::Microseconds(2 + 100));
  const kernel::LibraryCall call{{.flops = 100'000'000, .memory_bytes = 3'000'000}, "f", {}};
  EXPECT_EQ(FixedEstimate(Gpu(), call).duration, Duration::Microseconds(2 + 1 + 3));
  kernel::DnnGraph graph;
  graph.tensors = {kernel::TensorOf(1, {10, 100, 1000}), kernel::TensorOf(2, {1000}, 0, true)};
  EXPECT_EQ(FixedEstimate(Gpu(), graph).duration, Duration::Microseconds(2 + 4));
}

TEST(FixedDurationsTest, CopiesLastByTheirBytesWhereverTheyLead) {
  const kernel::Copy copy{.kind = workload::CopyKind::kHostToDevice,
                          .pinned = true,
                          .bytes = 5'000'000,
                          .row_bytes = 5'000'000};
  const kernel::Copy pageable{.kind = workload::CopyKind::kDeviceToHost,
                              .pinned = false,
                              .bytes = 5'000'000,
                              .row_bytes = 5'000'000};
  EXPECT_EQ(FixedEstimate(Gpu(), copy).duration, Duration::Microseconds(2 + 5));
  EXPECT_EQ(FixedEstimate(Gpu(), pageable).duration, Duration::Microseconds(2 + 5));
}

TEST(FixedDurationsTest, SizesBeyondAllNumbersLastAnHour) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(FixedEstimate(Gpu(), kernel::Gemm{.m = most, .n = most, .k = 3}).duration,
            Duration::FromSeconds(3600));
  kernel::DnnGraph graph;
  graph.tensors.assign(3, kernel::TensorOf(1, {1 << 30, 1 << 30, 1 << 30}));
  EXPECT_EQ(FixedEstimate(Gpu(), graph).duration, Duration::FromSeconds(3600));
  kernel::KernelLaunch launch = Launch(0xffffffff);
  launch.grid.y = launch.grid.z = 0xffff;
  EXPECT_EQ(FixedEstimate(Gpu(), launch).duration, Duration::FromSeconds(3600));
}

// Knows every duration.
class AllMeasured : public Measurements {
 public:
  std::optional<Measurement> Find(const std::string&, base::Digest) const override {
    return Measurement{Duration::Microseconds(7), 0.01};
  }
  std::vector<Neighbour> Class(const std::string&, base::Digest) const override { return {}; }
};

TEST(FixedDurationsTest, NeitherModelNorMeasurementNorClockChangesThem) {
  const AllMeasured measured;
  Estimator estimator(&measured);
  const gpu_model::GpuModel gpu = Gpu();

  const Estimate own = estimator.Of(gpu, Launch(1));
  const Estimate slow = estimator.AtClock(own, gpu, gpu_model::AtClock(gpu, 0.5), Launch(1));

  EXPECT_EQ(own.duration, Duration::Microseconds(3));
  EXPECT_EQ(own.source, estimate::Source::kAssumed);
  EXPECT_EQ(own.family, "fixed");
  EXPECT_EQ(slow.duration, own.duration);
}

}  // namespace
}  // namespace eidolon::timing::model
