#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "services/timing/kernel/index_launches_test.h"
#include "services/timing/kernel/kernel_name.h"
#include "services/timing/kernel/recognise.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

Demand DemandOfIndexing(const KernelLaunch& launch) {
  return Recognise(launch, ParseKernelName(launch.name));
}

constexpr IndexedRows kIndexed{.rows = 1'000'000, .width = 64, .indices = 65'536};
constexpr double kIndexedElements = 65'536.0 * 64;

IndexedRows NarrowRows(IndexedRows moved) {
  moved.type = "c10::BFloat16";
  moved.bytes = 2;
  return moved;
}

TEST(IndexingTest, RowsTouchedAreNoMoreThanIndicesAndThanTheTableHas) {
  EXPECT_DOUBLE_EQ(RowsTouched(1000, 0), 1000);  // A table of unknown size.
  EXPECT_NEAR(RowsTouched(1000, 1e9), 1000, 1);
  EXPECT_NEAR(RowsTouched(1e9, 1000), 1000, 1);
  EXPECT_NEAR(RowsTouched(1000, 1000), 1000 * (1 - std::exp(-1.0)), 1);
  double last = 0;
  for (double table = 1; table < 1e9; table *= 3) {
    const double touched = RowsTouched(5000, table);
    EXPECT_GT(touched, last);
    EXPECT_LE(touched, std::min(5000.0, table) * 1.0001);
    last = touched;
  }
}

TEST(IndexingTest, ACopyByIndexReadsEachIndexOnceForItsRow) {
  const Demand demand = DemandOfIndexing(IndexCopy(kIndexed));

  EXPECT_EQ(demand.family, Family::kIndex);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  const double touched = RowsTouched(65'536, 1e6) * 64 * 4;
  EXPECT_DOUBLE_EQ(demand.random_bytes, touched);
  EXPECT_DOUBLE_EQ(demand.row_bytes, 64 * 4);
  EXPECT_DOUBLE_EQ(demand.bytes, 65'536 * 8 + kIndexedElements * 4 + touched);
}

TEST(IndexingTest, RowsThatComeAgainAreWrittenOnce) {
  IndexedRows few = kIndexed;
  few.rows = 128;

  const Demand demand = DemandOfIndexing(IndexCopy(few));

  EXPECT_NEAR(demand.random_bytes, 128 * 64 * 4, 1);
  EXPECT_LT(demand.bytes, DemandOfIndexing(IndexCopy(kIndexed)).bytes);
}

TEST(IndexingTest, SumsReadTheTableThatCopiesOnlyWrite) {
  const Demand sum = DemandOfIndexing(Scatter(kIndexed));
  const Demand assignment = DemandOfIndexing(Scatter(kIndexed, "TensorAssign"));

  EXPECT_DOUBLE_EQ(sum.random_bytes, 2 * assignment.random_bytes);
  EXPECT_DOUBLE_EQ(sum.bytes - assignment.bytes, assignment.random_bytes);
  EXPECT_DOUBLE_EQ(assignment.bytes, DemandOfIndexing(IndexCopy(kIndexed)).bytes);
}

TEST(IndexingTest, NarrowSumsExchangeWordsAndTakeMoreInstructions) {
  const double wide = DemandOfIndexing(Scatter(kIndexed)).instructions;
  const double narrow = DemandOfIndexing(Scatter(NarrowRows(kIndexed))).instructions;

  EXPECT_GT(narrow, 1.5 * wide);
  EXPECT_DOUBLE_EQ(DemandOfIndexing(Scatter(NarrowRows(kIndexed), "TensorAssign")).instructions,
                   wide);
  EXPECT_DOUBLE_EQ(wide, 68 * kIndexedElements);
  EXPECT_DOUBLE_EQ(DemandOfIndexing(IndexCopy(kIndexed)).instructions,
                   DemandOfIndexing(IndexCopy(NarrowRows(kIndexed))).instructions);
}

TEST(IndexingTest, AClosureOfAnotherLayoutHasAnIndexForEachElement) {
  KernelLaunch launch = IndexCopy(kIndexed);
  launch.parameters.replace(launch.slots[1].offset, 4, std::string(4, '\0'));  // No dimensions.

  const Demand demand = DemandOfIndexing(launch);

  EXPECT_DOUBLE_EQ(demand.bytes, kIndexedElements * (8 + 4 + 4));
  EXPECT_DOUBLE_EQ(demand.row_bytes, 4);
}

TEST(IndexingTest, AGatherReadsATablesRowsOnceAndWritesThemAll) {
  const Demand spread = DemandOfIndexing(MoveRows(kIndexed));
  IndexedRows few = kIndexed;
  few.rows = 16;
  const Demand again = DemandOfIndexing(MoveRows(few));

  EXPECT_EQ(spread.family, Family::kEmbedding);
  EXPECT_EQ(spread.evidence, Evidence::kParameters);
  EXPECT_NEAR(spread.bytes, 65'536 * 8 + kIndexedElements * 4 + RowsTouched(65'536, 1e6) * 256, 1);
  EXPECT_NEAR(again.bytes, 65'536 * 8 + kIndexedElements * 4 + 16 * 256, 1);
  EXPECT_DOUBLE_EQ(again.row_bytes, 256);
}

TEST(IndexingTest, AScatterOfRowsWritesEachThatItIsGiven) {
  IndexedRows few = kIndexed;
  few.rows = 16;

  const Demand demand = DemandOfIndexing(MoveRows(few, true));

  EXPECT_DOUBLE_EQ(demand.random_bytes, kIndexedElements * 4);
  EXPECT_DOUBLE_EQ(demand.bytes, 65'536 * 8 + 2 * kIndexedElements * 4);
}

TEST(IndexingTest, ABagWaitsForEachOfItsRows) {
  const IndexedRows moved{.rows = 1'000'000, .width = 64, .indices = 65'536};

  const Demand long_bags = DemandOfIndexing(SumBags(moved, 2048));
  const Demand short_bags = DemandOfIndexing(SumBags(moved, 65'536));

  // 8 rows of threads in each of 1024 blocks take the 2 x 32 columns of 2048 bags in one round, of
  // 65536 in 16.
  EXPECT_DOUBLE_EQ(long_bags.dependent_loads, 2 + 32);
  EXPECT_DOUBLE_EQ(short_bags.dependent_loads, 16 * (2 + 1));
  EXPECT_DOUBLE_EQ(long_bags.working_blocks, 2048 * 2 / 8);
  EXPECT_DOUBLE_EQ(long_bags.dependent_bytes, (1e6 + 2048) * 64 * 4);
  const double touched = RowsTouched(65'536, 1e6) * 64 * 4;
  EXPECT_DOUBLE_EQ(long_bags.random_bytes, touched);
  EXPECT_DOUBLE_EQ(long_bags.bytes, 65'536 * 8 + touched + 2048 * 64 * 4);
}

TEST(IndexingTest, BagsOfPartOfARowOfThreadsTakeItWhole) {
  const IndexedRows moved{.rows = 1000, .width = 33, .indices = 8192};
  IndexedRows wider = moved;
  wider.width = 64;

  EXPECT_DOUBLE_EQ(DemandOfIndexing(SumBags(moved, 1024)).working_blocks,
                   DemandOfIndexing(SumBags(wider, 1024)).working_blocks);
}

TEST(IndexingTest, ASmallBatchNormWaitsForEachPieceOfItsPlanes) {
  // 14 by 14 places in one piece of 256 threads; two rows of threads share 16 members.
  const Pictures pictures{.members = 16, .channels = 256, .places = 196};

  const Demand statistics =
      DemandOfIndexing(NormBatch("batch_norm_collect_statistics_kernel", 1, pictures, 256, 2));
  const Demand backward =
      DemandOfIndexing(NormBatch("batch_norm_backward_kernel", 3, pictures, 256, 2));
  const Demand transform =
      DemandOfIndexing(NormBatch("batch_norm_transform_input_kernel", 2, pictures, 64, 1));

  EXPECT_EQ(statistics.family, Family::kNormalization);
  EXPECT_DOUBLE_EQ(statistics.dependent_loads, 8);
  EXPECT_DOUBLE_EQ(statistics.cold_loads, 1);
  EXPECT_DOUBLE_EQ(backward.dependent_loads, 8);
  EXPECT_DOUBLE_EQ(backward.cold_loads, 9);        // What the forward pass left comes from memory.
  EXPECT_DOUBLE_EQ(transform.dependent_loads, 4);  // A member a row of blocks, four pieces.
  EXPECT_DOUBLE_EQ(statistics.bytes, 16.0 * 256 * 196 * 2);
  EXPECT_DOUBLE_EQ(transform.bytes, 2 * statistics.bytes);
  EXPECT_DOUBLE_EQ(backward.bytes, 3 * statistics.bytes);
}

TEST(IndexingTest, ABatchNormWaitsLongerForMoreMembersAndLargerPlanes) {
  const auto walk = [](std::int32_t members, std::int32_t places) {
    const Pictures pictures{.members = members, .channels = 64, .places = places};
    return DemandOfIndexing(NormBatch("batch_norm_collect_statistics_kernel", 1, pictures, 512, 1));
  };

  EXPECT_DOUBLE_EQ(walk(32, 500).dependent_loads, 2 * walk(16, 500).dependent_loads);
  EXPECT_DOUBLE_EQ(walk(16, 1000).dependent_loads, 2 * walk(16, 500).dependent_loads);
  EXPECT_DOUBLE_EQ(walk(16, 512).dependent_loads, walk(16, 500).dependent_loads);
  EXPECT_GT(walk(16, 1000).dependent_clocks, walk(16, 500).dependent_clocks);
}

}  // namespace
}  // namespace eidolon::timing::kernel
