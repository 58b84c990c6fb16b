#include "services/contract/estimate/wire/source_message.h"

#include <gtest/gtest.h>

namespace eidolon::estimate::wire {
namespace {

TEST(SourceMessageTest, EverySourceComesBackAsItWasSent) {
  for (int i = 0; i < kSources; ++i) {
    const auto source = static_cast<Source>(i);
    EXPECT_EQ(FromMessage(ToMessage(source)), source) << Name(source);
  }
}

TEST(SourceMessageTest, UnspecifiedAndUnknownSourcesAreNone) {
  EXPECT_EQ(FromMessage(common::v1::ESTIMATE_SOURCE_UNSPECIFIED), std::nullopt);
  EXPECT_EQ(FromMessage(static_cast<common::v1::EstimateSource>(77)), std::nullopt);
}

}  // namespace
}  // namespace eidolon::estimate::wire
