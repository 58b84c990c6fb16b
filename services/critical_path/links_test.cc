#include "services/critical_path/links.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace eidolon::critical_path {
namespace {

base::Duration At(const LinkTimes& times, LinkTier tier) {
  return times[static_cast<std::size_t>(tier)];
}

const std::vector<LinkTime> kTransfer = {{.time = {10}, .tier = LinkTier::kLatency},
                                         {.time = {7}, .tier = LinkTier::kPace},
                                         {.time = {23}, .tier = LinkTier::kNic}};

TEST(LinksTest, AWholeTransferKeepsItsTimes) {
  LinkTimes times{};

  AddLast(kTransfer, {40}, &times);

  EXPECT_EQ(At(times, LinkTier::kLatency), base::Duration{10});
  EXPECT_EQ(At(times, LinkTier::kPace), base::Duration{7});
  EXPECT_EQ(At(times, LinkTier::kNic), base::Duration{23});
}

TEST(LinksTest, TheLatencyIsWhatAShortenedTransferLosesFirst) {
  LinkTimes times{};

  AddLast(kTransfer, {33}, &times);

  EXPECT_EQ(At(times, LinkTier::kLatency), base::Duration{3});
  EXPECT_EQ(At(times, LinkTier::kNic), base::Duration{23});
}

TEST(LinksTest, EveryLengthAddsUpToThePicosecond) {
  for (std::int64_t length = 0; length <= 60; ++length) {
    LinkTimes times{};

    AddLast(kTransfer, {length}, &times);

    const base::Duration sum = std::accumulate(times.begin(), times.end(), base::Duration{});
    EXPECT_EQ(sum, base::Duration{length});
    EXPECT_EQ(At(times, LinkTier::kUnknown), base::Duration{length > 40 ? length - 40 : 0});
    for (const base::Duration time : times) EXPECT_GE(time, base::Duration{});
  }
}

TEST(LinksTest, ATransferThatNothingIsKnownOfIsOfNoKnownLink) {
  LinkTimes times{};

  AddLast({}, {5}, &times);

  EXPECT_EQ(At(times, LinkTier::kUnknown), base::Duration{5});
}

TEST(LinksTest, EveryTierHasAName) {
  for (std::uint32_t tier = 0; tier < kLinkTiers; ++tier) {
    EXPECT_FALSE(Name(static_cast<LinkTier>(tier)).empty());
  }
}

}  // namespace
}  // namespace eidolon::critical_path
