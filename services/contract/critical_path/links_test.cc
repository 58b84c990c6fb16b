#include "services/contract/critical_path/links.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace eidolon::critical_path {
namespace {

base::Duration At(const LinkTimes& times, LinkTier tier) {
  return times[static_cast<std::size_t>(tier)];
}

// Returns the times by tier.
LinkTimes LastOf(const std::vector<LinkTime>& transfer, std::int64_t length_ps) {
  LinkTimes times{};
  TellLast(transfer, {length_ps},
           [&](const LinkTime& told) { times[static_cast<std::size_t>(told.tier)] += told.time; });
  return times;
}

const std::vector<LinkTime> kTransfer = {{.time = {10}, .tier = LinkTier::kLatency},
                                         {.time = {7}, .tier = LinkTier::kPace},
                                         {.time = {23}, .tier = LinkTier::kNic}};

TEST(LinksTest, AWholeTransferKeepsItsTimes) {
  const LinkTimes times = LastOf(kTransfer, 40);

  EXPECT_EQ(At(times, LinkTier::kLatency), base::Duration{10});
  EXPECT_EQ(At(times, LinkTier::kPace), base::Duration{7});
  EXPECT_EQ(At(times, LinkTier::kNic), base::Duration{23});
}

TEST(LinksTest, TheLatencyIsWhatAShortenedTransferLosesFirst) {
  const LinkTimes times = LastOf(kTransfer, 33);

  EXPECT_EQ(At(times, LinkTier::kLatency), base::Duration{3});
  EXPECT_EQ(At(times, LinkTier::kNic), base::Duration{23});
}

TEST(LinksTest, EveryLengthAddsUpToThePicosecond) {
  for (std::int64_t length = 0; length <= 60; ++length) {
    const LinkTimes times = LastOf(kTransfer, length);

    const base::Duration sum = std::accumulate(times.begin(), times.end(), base::Duration{});
    EXPECT_EQ(sum, base::Duration{length});
    EXPECT_EQ(At(times, LinkTier::kUnknown), base::Duration{length > 40 ? length - 40 : 0});
    for (const base::Duration time : times) EXPECT_GE(time, base::Duration{});
  }
}

TEST(LinksTest, ATransferThatNothingIsKnownOfIsOfNoKnownLink) {
  const LinkTimes times = LastOf({}, 5);

  EXPECT_EQ(At(times, LinkTier::kUnknown), base::Duration{5});
}

TEST(LinksTest, SaysWhichLinkOfASortItWas) {
  const std::vector<LinkTime> transfer = {{.time = {10}, .tier = LinkTier::kNic, .link = 3},
                                          {.time = {30}, .tier = LinkTier::kNic, .link = 5}};
  std::vector<std::pair<std::uint32_t, std::int64_t>> told;

  TellLast(transfer, {20}, [&](const LinkTime& link) {
    if (link.time.ps > 0) told.emplace_back(link.link, link.time.ps);
  });

  EXPECT_EQ(told, (std::vector<std::pair<std::uint32_t, std::int64_t>>{{3, 5}, {5, 15}}));
}

TEST(LinksTest, EveryTierHasAName) {
  for (std::uint32_t tier = 0; tier < kLinkTiers; ++tier) {
    EXPECT_FALSE(Name(static_cast<LinkTier>(tier)).empty());
  }
}

}  // namespace
}  // namespace eidolon::critical_path
