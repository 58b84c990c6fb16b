#include "services/network/flow/flow_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::network::flow {
namespace {

using Slot = FlowTable::Slot;

// A flow over the links, all of them awake.
Slot Add(FlowTable& table, const std::vector<Hop>& hops, std::uint32_t weight = 1) {
  const Slot slot = table.Add({.work = 1, .weight = weight, .hops = hops});
  for (std::uint32_t hop = 0; hop < hops.size(); ++hop) {
    table.flow(slot).awake |= static_cast<std::uint16_t>(1u << hop);
    table.link(hops[hop].link).asleep = false;
  }
  return slot;
}

// Every hop's entry and its member know each other.
void ExpectWhole(const FlowTable& table) {
  for (std::uint32_t at = 0; at < table.LinkCount(); ++at) {
    const auto& members = table.link(at).members;
    for (std::uint32_t position = 0; position < members.size(); ++position) {
      const FlowTable::Flow& flow = table.flow(members[position].flow);
      const auto& entry = table.EntryOf(flow, members[position].entry - flow.first);
      EXPECT_EQ(entry.link, at);
      EXPECT_EQ(entry.position, position);
    }
  }
}

TEST(FlowTableTest, ANewFlowIsAForeignMemberOfEachOfItsLinks) {
  FlowTable table(std::vector<std::uint64_t>{100, 200});
  const Slot slot = Add(table, {{.link = 1}, {.link = 0}});

  EXPECT_EQ(table.link(0).members.size(), 1u);
  EXPECT_EQ(table.link(1).members.size(), 1u);
  EXPECT_EQ(table.link(0).bound, 0u);
  EXPECT_EQ(table.BoundLink(slot), FlowTable::kNone);
  EXPECT_EQ(table.LiveCount(), 1u);
  ExpectWhole(table);
}

TEST(FlowTableTest, BindingMovesAFlowsRateFromForeignToWeightAndBack) {
  FlowTable table(std::vector<std::uint64_t>{100});
  const Slot other = Add(table, {{.link = 0}});
  const Slot slot = Add(table, {{.link = 0}}, 3);
  for (const Slot at : {other, slot}) table.level(at) = 1000;
  table.CountForeign(0);
  EXPECT_EQ(table.link(0).foreign, 4000u);
  EXPECT_EQ(table.link(0).peak, 1000u);

  table.Bind(slot, 0);
  EXPECT_EQ(table.link(0).foreign, 1000u);
  EXPECT_EQ(table.link(0).weight, std::uint64_t{3} << 31);
  EXPECT_EQ(table.link(0).members[0].flow, slot);
  EXPECT_EQ(table.BoundLink(slot), 0u);
  ExpectWhole(table);

  EXPECT_EQ(table.Unbind(slot), 0u) << "it binds nobody any more";
  EXPECT_EQ(table.link(0).foreign, 4000u);
  EXPECT_EQ(table.link(0).weight, 0u);
  EXPECT_EQ(table.link(0).level, FlowTable::kUnbound);
}

TEST(FlowTableTest, AFlowThatLeavesTakesItsRateAlongAndItsSlotIsUsedAgain) {
  FlowTable table(std::vector<std::uint64_t>{100});
  const Slot first = Add(table, {{.link = 0}});
  const Slot second = Add(table, {{.link = 0}});
  table.level(first) = 10;
  table.level(second) = 20;
  table.CountForeign(0);

  table.Leave(first);
  table.Free(first);

  EXPECT_EQ(table.link(0).foreign, 20u);
  EXPECT_EQ(table.link(0).members.size(), 1u);
  EXPECT_FALSE(table.flow(first).live);
  ExpectWhole(table);
  EXPECT_EQ(Add(table, {{.link = 0}}), first);
}

TEST(FlowTableTest, AShareCountsInPart) {
  FlowTable table(std::vector<std::uint64_t>{100});
  const Slot slot = Add(table, {{.link = 0, .share = Hop::kWhole / 4}}, 2);
  table.level(slot) = 1000;

  EXPECT_EQ(table.LoadOf(0), 500u);
  table.CountForeign(0);
  table.Bind(slot, 0);
  EXPECT_EQ(table.link(0).fractional, 1u);
  // Twice a quarter of the level fills the link.
  EXPECT_EQ(table.link(0).LevelIfShared(), std::uint64_t{200} << kRateBits);
}

TEST(FlowTableTest, CountingAllAgreesWithCountingStepByStep) {
  FlowTable table(std::vector<std::uint64_t>{100, 200});
  const Slot a = Add(table, {{.link = 0}, {.link = 1}});
  const Slot b = Add(table, {{.link = 1}}, 2);
  table.level(a) = 7;
  table.level(b) = 9;
  for (const std::uint32_t link : {0u, 1u}) table.CountForeign(link);
  table.Bind(a, 0);
  table.Bind(b, 0);
  const std::uint64_t foreign = table.link(1).foreign;
  const std::uint64_t weight = table.link(1).weight;

  table.CountAll();

  EXPECT_EQ(table.link(1).foreign, foreign);
  EXPECT_EQ(table.link(1).foreign, 7u);
  EXPECT_EQ(table.link(1).weight, weight);
  EXPECT_EQ(table.link(0).bound, 1u);
  ExpectWhole(table);
}

}  // namespace
}  // namespace eidolon::network::flow
