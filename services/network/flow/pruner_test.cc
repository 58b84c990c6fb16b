#include "services/network/flow/pruner.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::network::flow {
namespace {

// Links 0 and 1 are narrow; 2 is as wide as both, 3 only as wide as one and a half.
struct PrunerTest : testing::Test {
  FlowTable::Slot Join(const std::vector<Hop>& hops) {
    const FlowTable::Slot slot = table.Add({.work = 1, .hops = hops});
    pruner.Join(slot);
    return slot;
  }
  void Leave(FlowTable::Slot slot) {
    table.Leave(slot);
    pruner.Leave(slot);
    table.Free(slot);
  }
  FlowTable table{std::vector<std::uint64_t>{100, 100, 200, 150}};
  LinkAgenda agenda{table};
  Pruner pruner{table, agenda};
};

TEST_F(PrunerTest, ALinkAsWideAsAllThatFeedItSleeps) {
  const FlowTable::Slot slot = Join({{.link = 0}, {.link = 2}});
  Join({{.link = 1}, {.link = 2}});

  EXPECT_TRUE(table.link(2).asleep);
  EXPECT_FALSE(table.link(0).asleep) << "nothing narrower vouches for it";
  EXPECT_TRUE(FlowTable::Awake(table.flow(slot), 0));
  EXPECT_FALSE(FlowTable::Awake(table.flow(slot), 1));
}

TEST_F(PrunerTest, ALinkNarrowerThanItsFeedersTogetherWakesForAllItsMembers) {
  const FlowTable::Slot first = Join({{.link = 0}, {.link = 3}});
  EXPECT_TRUE(table.link(3).asleep);

  Join({{.link = 1}, {.link = 3}});

  EXPECT_FALSE(table.link(3).asleep);
  EXPECT_TRUE(FlowTable::Awake(table.flow(first), 1));
}

TEST_F(PrunerTest, SeveralFlowsOfOneFeederCountOnce) {
  for (int flow = 0; flow < 5; ++flow) Join({{.link = 0}, {.link = 3}});

  EXPECT_TRUE(table.link(3).asleep);
}

TEST_F(PrunerTest, ALinkSleepsAgainWhenItsLastFlowLeaves) {
  const FlowTable::Slot first = Join({{.link = 0}, {.link = 3}});
  const FlowTable::Slot second = Join({{.link = 1}, {.link = 3}});

  Leave(first);
  EXPECT_FALSE(table.link(3).asleep);
  Leave(second);

  EXPECT_TRUE(table.link(3).asleep);
}

TEST_F(PrunerTest, ALinkWakesWhenItShrinksBelowItsFeeders) {
  Join({{.link = 0}, {.link = 2}});
  Join({{.link = 1}, {.link = 2}});
  const std::uint64_t before = table.link(2).capacity;

  table.link(2).capacity = before - 1;
  pruner.Refeed(2, before);

  EXPECT_FALSE(table.link(2).asleep);
}

TEST_F(PrunerTest, APlainFlowOverTwoLinksThatAreAwakeNamesEachToTheOther) {
  Join({{.link = 0}, {.link = 1}});

  EXPECT_EQ(table.link(0).members[0].other, 1u);
  EXPECT_EQ(table.link(1).members[0].other, 0u);
}

}  // namespace
}  // namespace eidolon::network::flow
