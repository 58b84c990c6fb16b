#include "services/contract/critical_path/summary.h"

#include <gtest/gtest.h>

#include "services/contract/critical_path/builder_test.h"

namespace eidolon::critical_path {
namespace {

using base::Duration;

TEST(SummaryTest, PartsByKindAndByRankMakeUpTheIteration) {
  RankBuilder early(0, {0, 100});
  early.Call({0, 4});
  early.Kernel({7, 20});
  early.Collective({22, {60, 100}}, 5, 1);
  RankBuilder late(1, {0, 100});
  late.Call({0, 10});
  late.Kernel({13, 30});
  late.Call({11, 12});
  late.Kernel({32, 58}, 1);
  late.Collective({60, {60, 100}}, 5, 2);

  const std::vector<RankTrace> traces{early.trace(), late.trace()};
  const Summary summary = Summarise(traces);

  EXPECT_EQ(summary.length, Duration{100});
  EXPECT_EQ(summary.iteration, 2u);
  EXPECT_EQ(summary.segments, 7u);
  EXPECT_EQ(summary.rank_changes, 1u);
  ASSERT_EQ(summary.kinds.size(), 4u);
  EXPECT_EQ(summary.kinds[0].kind, Kind::kKernel);
  EXPECT_EQ(summary.kinds[0].time, Duration{43});
  EXPECT_EQ(summary.kinds[1].kind, Kind::kCommunication);
  EXPECT_EQ(summary.kinds[1].time, Duration{40});
  EXPECT_EQ(summary.kinds[2].time + summary.kinds[3].time, Duration{17});
  ASSERT_EQ(summary.ranks.size(), 2u);
  EXPECT_EQ(summary.ranks[0].rank, 1);
  EXPECT_EQ(summary.ranks[0].time, Duration{60});
  EXPECT_EQ(summary.ranks[1].time, Duration{40});
  EXPECT_EQ(summary.operations[0].name, "gemm");
  EXPECT_EQ(summary.operations[0].times, 2u);
}

TEST(SummaryTest, LinksMakeUpCommunication) {
  RankBuilder early(0, {0, 100});
  early.Call({0, 4});
  early.Collective({7, {60, 100}}, 5);
  const std::vector<LinkTime> links = {{.time = {10}, .tier = LinkTier::kLatency},
                                       {.time = {25}, .tier = LinkTier::kNic},
                                       {.time = {5}, .tier = LinkTier::kPace}};
  early.Links(links);
  RankBuilder late(1, {0, 100});
  late.Call({0, 10});
  late.Kernel({13, 58});
  late.Collective({60, {60, 100}}, 5, 1);
  late.Links(links);

  const std::vector<RankTrace> traces{early.trace(), late.trace()};
  const Summary summary = Summarise(traces);

  ASSERT_EQ(summary.links.size(), 3u);
  EXPECT_EQ(summary.links[0].tier, LinkTier::kNic);
  EXPECT_EQ(summary.links[0].time, Duration{25});
  EXPECT_EQ(summary.links[1].tier, LinkTier::kLatency);
  EXPECT_EQ(summary.links[2].time, Duration{5});
}

TEST(SummaryTest, NamesTheLinksThatTakeMostOfIt) {
  RankBuilder builder(3, {0, 100});
  builder.Call({0, 4});
  builder.Collective({7, {60, 100}}, 5);
  std::vector<LinkTime> links;
  for (std::uint32_t link = 1; link <= 10; ++link) {
    builder.trace().names.push_back("link " + std::to_string(link));
    const auto name = static_cast<std::uint32_t>(builder.trace().names.size());
    links.push_back({.time = {link == 4 ? 13 : 3}, .tier = LinkTier::kNic, .link = name});
  }
  builder.Links(links);

  const std::vector<RankTrace> traces{builder.trace()};
  const Summary summary = Summarise(traces);

  ASSERT_EQ(summary.links.size(), 1u);
  EXPECT_EQ(summary.links[0].time, Duration{40});
  ASSERT_EQ(summary.named_links.size(), kNamedLinksMax);
  EXPECT_EQ(summary.named_links[0].name, "link 4");
  EXPECT_EQ(summary.named_links[0].time, Duration{13});
  EXPECT_EQ(summary.named_links[0].tier, LinkTier::kNic);
}

TEST(SummaryTest, OfAGroupTheTransferThatEndedLastCounts) {
  // The partner came at 85, so that no more than 15 of the 20 lie on the path.
  RankBuilder sender(0, {0, 100});
  sender.Call({0, 4});
  sender.Group({7, {7, 100}}, {{.peer = 1, .is_send = true}});
  const std::vector<LinkTime> links = {{.time = {10}, .tier = LinkTier::kLatency},
                                       {.time = {10}, .tier = LinkTier::kNvlink}};
  sender.Links(links);
  RankBuilder receiver(1, {0, 100});
  receiver.Call({0, 82});
  receiver.Group({85, {85, 100}}, {{.peer = 0, .is_send = false}});
  receiver.Links(links);

  const std::vector<RankTrace> traces{sender.trace(), receiver.trace()};
  const Summary summary = Summarise(traces);

  ASSERT_EQ(summary.links.size(), 2u);
  EXPECT_EQ(summary.links[0].tier, LinkTier::kNvlink);
  EXPECT_EQ(summary.links[0].time, Duration{10});
  EXPECT_EQ(summary.links[1].time, Duration{5});
}

TEST(SummaryTest, ListsTheOperationsThatTakeMost) {
  RankBuilder rank(0, {0, 10'000});
  rank.Call({0, 1});
  std::uint32_t last = kHostCall;
  std::int64_t time = 2;
  for (std::int64_t i = 1; i <= 30; ++i) {
    last = rank.Kernel({time, time + i}, last);
    rank.trace().names.back() = "kernel " + std::to_string(i);
    time += i + 2;
  }
  rank.trace().finish = {time - 2};

  const std::vector<RankTrace> traces{rank.trace()};
  const Summary summary = Summarise(traces);

  ASSERT_EQ(summary.operations.size(), kOperationsMax);
  EXPECT_EQ(summary.operations[0].name, "launch gap");
  EXPECT_EQ(summary.operations[1].name, "kernel 30");
}

}  // namespace
}  // namespace eidolon::critical_path
