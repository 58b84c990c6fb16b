#include "services/agent/cost/cost_book.h"

#include <gtest/gtest.h>

#include "eidolon/common/v1/common.pb.h"

namespace eidolon::agent::cost {
namespace {

TEST(CostBookTest, KnownSourcesAreTakenAsTheyAre) {
  CostBook costs(132);

  EXPECT_EQ(costs.KnownSource(common::v1::ESTIMATE_SOURCE_MEASURED), estimate::Source::kMeasured);
  EXPECT_EQ(costs.KnownSource(common::v1::ESTIMATE_SOURCE_MODELLED), estimate::Source::kModelled);
  EXPECT_EQ(costs.KnownSource(common::v1::ESTIMATE_SOURCE_ASSUMED), estimate::Source::kAssumed);
  EXPECT_EQ(costs.unknown_sources(), 0u);
}

TEST(CostBookTest, ASourceThatIsMissingOrUnknownIsAssumedAndCounted) {
  CostBook costs(132);

  EXPECT_EQ(costs.KnownSource(common::v1::ESTIMATE_SOURCE_UNSPECIFIED), estimate::Source::kAssumed);
  EXPECT_EQ(costs.KnownSource(static_cast<common::v1::EstimateSource>(77)),
            estimate::Source::kAssumed);
  EXPECT_EQ(costs.unknown_sources(), 2u);
}

}  // namespace
}  // namespace eidolon::agent::cost
