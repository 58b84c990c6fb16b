#include "services/timing/model/memory_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::model {
namespace {

const gpu_model::GpuModel& MemoryOfH100() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find("H100-SXM5-80GB");
}

TEST(MemoryModelTest, LargeKernelsReachTheAttainedBandwidth) {
  const double seconds = MemorySeconds(MemoryOfH100(), 3.35e9, 1);

  EXPECT_NEAR(seconds, 1e-3 / 0.9, 0.01e-3);
}

TEST(MemoryModelTest, MoreBytesNeverTakeLess) {
  double last = 0;
  for (double bytes = 1; bytes < 1e11; bytes *= 1.07) {
    const double seconds = MemorySeconds(MemoryOfH100(), bytes, 0.8);
    EXPECT_GT(seconds, last) << bytes;
    last = seconds;
  }
}

TEST(MemoryModelTest, ATinyKernelLastsHardlyLongerThanAnEmptyOne) {
  const kernel::Demand demand{.bytes = 128};

  // Adding 1024 numbers of 16 bits: 1.09 us (e2e/measured/h100/kernels.jsonl.gz).
  EXPECT_NEAR(DemandSeconds(MemoryOfH100(), demand, {.blocks = 1, .threads = 32}), 1.09e-6, 0.2e-6);
}

TEST(MemoryModelTest, StoresDoNotWaitForTheInstructionsOfOthers) {
  kernel::Demand demand{.bytes = 3e8, .instructions = 3e9};
  const Parallelism parallelism{.blocks = 1056, .threads = 1056 * 256};

  const double loads = DemandSeconds(MemoryOfH100(), demand, parallelism);
  demand.only_writes = true;
  const double stores = DemandSeconds(MemoryOfH100(), demand, parallelism);

  EXPECT_NEAR(loads / stores, 1.41, 0.05);
}

TEST(MemoryModelTest, TheBusiestMultiprocessorDecidesWhenInstructionsAreIssued) {
  const auto seconds = [](double blocks) {
    const kernel::Demand demand{.instructions = 1e8 * blocks};
    return DemandSeconds(MemoryOfH100(), demand, {.blocks = blocks, .threads = 256 * blocks});
  };
  const double sms = MemoryOfH100().multiprocessors;

  EXPECT_NEAR(seconds(1), seconds(sms), 1e-9);
  EXPECT_NEAR(seconds(sms + 1), seconds(2 * sms), 1e-9);
  EXPECT_GT(seconds(sms + 1), 1.9 * seconds(sms));
}

TEST(MemoryModelTest, LoadsThatWaitForEachOtherComeFromL2WhereItHoldsThem) {
  kernel::Demand demand{.dependent_loads = 1000, .dependent_bytes = 1e6};
  const Parallelism one{.blocks = 1, .threads = 32};

  const double near = DemandSeconds(MemoryOfH100(), demand, one);
  demand.dependent_bytes = 1e9;
  const double far = DemandSeconds(MemoryOfH100(), demand, one);
  demand = {.dependent_bytes = 1e6, .cold_loads = 1000};

  EXPECT_NEAR(near, 132e-6, 5e-6);
  EXPECT_NEAR(far, 410e-6, 5e-6);
  EXPECT_NEAR(DemandSeconds(MemoryOfH100(), demand, one), far, 1e-9);
}

TEST(MemoryModelTest, BlocksThatHaveNothingToDoMakeNoWave) {
  kernel::Demand demand{.dependent_loads = 100, .dependent_bytes = 1e9};
  const double sms = MemoryOfH100().multiprocessors;
  const Parallelism parallelism{.blocks = 4 * sms, .threads = 4 * sms * 1024};

  const double all = DemandSeconds(MemoryOfH100(), demand, parallelism);
  demand.working_blocks = sms;

  EXPECT_NEAR(all, 2 * 41e-6, 3e-6);
  EXPECT_NEAR(DemandSeconds(MemoryOfH100(), demand, parallelism), 41e-6, 3e-6);
}

TEST(MemoryModelTest, ClocksPassAtTheBoostClock) {
  const kernel::Demand demand{.clocks = 1.98e9};

  EXPECT_NEAR(DemandSeconds(MemoryOfH100(), demand, {.blocks = 1, .threads = 1}), 1, 1e-5);
}

TEST(MemoryModelTest, ABlockOfAGridThatIsMadeForElementsIsFull) {
  // Blocks of 128 threads with room for 8 elements each.
  const auto seconds = [](double elements) {
    const double blocks = std::ceil(elements / 1024);
    const kernel::Demand demand{.bytes = 600 * elements, .elements = elements};
    return DemandSeconds(MemoryOfH100(), demand, {.blocks = blocks, .threads = 128 * blocks});
  };

  EXPECT_DOUBLE_EQ(seconds(1024), seconds(1025));
  EXPECT_DOUBLE_EQ(seconds(1024), seconds(20 * 1024));
  EXPECT_LT(seconds(700), seconds(1024));
  double last = 0;
  for (double elements = 1; elements < 1e6; elements = std::floor(elements * 1.1) + 1) {
    EXPECT_GE(seconds(elements), last) << elements;
    last = seconds(elements);
  }
}

TEST(MemoryModelTest, WarpsThatGoInStepIssueOneAfterTheOther) {
  kernel::Demand demand{.instructions = 0, .dependent_clocks = 1e5, .in_step = true};
  const double sms = MemoryOfH100().multiprocessors;
  // 16 warps a block, each with 10,000 instructions.
  const auto seconds = [&](double blocks) {
    demand.instructions = blocks * 512 * 1e4;
    return DemandSeconds(MemoryOfH100(), demand, {.blocks = blocks, .threads = 512 * blocks});
  };
  const double clock = static_cast<double>(MemoryOfH100().boost_clock_hz);

  // Beside the one whose clocks are counted three warps of each scheduler; blocks take turns.
  EXPECT_NEAR(seconds(sms), (1e5 + 3e4) / clock, 2e-6);
  EXPECT_NEAR(seconds(2 * sms), std::hypot(1.3e5, 8e4) / clock, 2e-6);
  demand.shared_wavefronts = 2 * sms * 1e5;
  EXPECT_NEAR(seconds(2 * sms), (1e5 + 2e5 * 31 / 32) / clock, 2e-6);
}

TEST(MemoryModelTest, StreamsWaitForMemoryInstructionsAndLoadsByTurns) {
  kernel::Demand demand{.bytes = 3e8, .instructions = 3e9, .elements = 1e8};
  const Parallelism parallelism{.blocks = 2e5, .threads = 2e5 * 256};

  const double without = DemandSeconds(MemoryOfH100(), demand, parallelism);
  demand.dependent_loads = 4;
  demand.dependent_bytes = demand.bytes;
  const double with = DemandSeconds(MemoryOfH100(), demand, parallelism);

  const double waves = 2e5 / (8 * 132);
  EXPECT_NEAR(std::pow(with, 2), std::pow(without, 2) + std::pow(waves * 4 * 0.41e-6, 2), 3e-9);
}

TEST(MemoryModelTest, OneBlockCannotFillTheGpu) {
  const kernel::Demand demand{.bytes = 1e8};

  const double one = DemandSeconds(MemoryOfH100(), demand, {.blocks = 1, .threads = 1024});
  const double all = DemandSeconds(MemoryOfH100(), demand, {.blocks = 1e4, .threads = 1e7});

  EXPECT_GT(one, 30 * all);
}

TEST(MemoryModelTest, BlocksStartOneAfterTheOther) {
  // 160000 blocks that fill 2 KiB each: 97.2 us (measured on H200), where writing takes 78.
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  const kernel::Demand demand{.bytes = 160e3 * 2048, .efficiency = 1.06};

  const double seconds = DemandSeconds(**catalog.Find("H200-SXM-141GB"), demand,
                                       {.blocks = 160e3, .threads = 160e3 * 128});

  EXPECT_NEAR(seconds, 97.2e-6, 2e-6);
}

TEST(MemoryModelTest, AWaveOfBlocksWaitsForTheLast) {
  const kernel::Demand demand{.wave_steps = 2};
  const double sms = MemoryOfH100().multiprocessors;
  const auto seconds = [&](double waves, double resident) {
    const double blocks = waves * 2 * sms;
    return DemandSeconds(MemoryOfH100(), demand,
                         {.blocks = blocks, .threads = 1024 * blocks, .resident = resident});
  };

  EXPECT_NEAR(seconds(100, 0) - seconds(50, 0), 50 * 1.2e-6, 1e-6);
  EXPECT_NEAR(seconds(50, 1), seconds(100, 2), 1e-9);
  EXPECT_NEAR(seconds(0.5, 2), seconds(1, 2), 1e-9);
}

TEST(MemoryModelTest, ShortGatheredRowsWasteBandwidth) {
  kernel::Demand demand{.bytes = 1e9, .random_bytes = 1e9, .row_bytes = 4};
  const double scattered = DemandSeconds(MemoryOfH100(), demand, {});
  demand.row_bytes = 4096;
  const double rows = DemandSeconds(MemoryOfH100(), demand, {});

  EXPECT_GT(scattered, 5 * rows);
}

TEST(MemoryModelTest, AddressesOfNarrowElementsTakeLongerThanTheirBytes) {
  // A row that multiplies 32256 x 1536 elements of 16 bits: 133 us on MemoryOfH100 (published),
  // where the bytes alone would take 77.
  constexpr double kElements = 32256.0 * 1536;
  kernel::Demand demand{.bytes = 4 * kElements, .address_operations = 47 * kElements};
  demand.efficiency = 0.85;

  EXPECT_NEAR(DemandSeconds(MemoryOfH100(), demand, {}), 133e-6, 15e-6);
  demand.address_operations = 0;
  EXPECT_NEAR(DemandSeconds(MemoryOfH100(), demand, {}), 77e-6, 5e-6);
}

TEST(MemoryModelTest, ScatteredLanesAreBoundBySectors) {
  // The same matrix transposed: 402 us (published), whatever the width.
  constexpr double kElements = 32256.0 * 1536;
  const kernel::Demand demand{.bytes = 12 * kElements, .sectors = kElements};

  EXPECT_NEAR(DemandSeconds(MemoryOfH100(), demand, {}), 402e-6, 20e-6);
}

TEST(MemoryModelTest, MoreAddressesAndSectorsNeverTakeLess) {
  for (double kernel::Demand::*what :
       {&kernel::Demand::address_operations, &kernel::Demand::sectors}) {
    double last = 0;
    for (double count = 1; count < 1e12; count *= 1.5) {
      kernel::Demand demand{.bytes = 1e6};
      demand.*what = count;
      const double seconds =
          DemandSeconds(MemoryOfH100(), demand, {.blocks = 100, .threads = 12800});
      EXPECT_GE(seconds, last) << count;
      last = seconds;
    }
  }
}

}  // namespace
}  // namespace eidolon::timing::model
