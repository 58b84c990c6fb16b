#include "services/network/flow/level_solver.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/network/flow/certificate.h"
#include "services/network/flow/pruner.h"

namespace eidolon::network::flow {
namespace {

constexpr std::uint64_t kUnit = std::uint64_t{1} << kRateBits;

struct LevelSolverTest : testing::Test {
  FlowTable::Slot Start(const std::vector<Hop>& hops, std::uint64_t cap = kRateMax) {
    const FlowTable::Slot slot = table.Add({.work = 1, .cap = cap, .hops = hops});
    pruner.Join(slot);
    order.Enter(slot, 1);
    holds.Begin(slot);
    solver.Seat(slot);
    return slot;
  }
  FlowTable table{std::vector<std::uint64_t>{100, 200}};
  FinishOrder order{2};
  LinkAgenda agenda{table};
  Pruner pruner{table, agenda};
  HoldTable holds{{}};
  LevelSolver solver{table, agenda, order, holds};
};

TEST_F(LevelSolverTest, ALongFlowLeavesTheRestToShortOnes) {
  const FlowTable::Slot both = Start({{.link = 0}, {.link = 1}});
  const FlowTable::Slot first = Start({{.link = 0}});
  const FlowTable::Slot second = Start({{.link = 1}});

  ASSERT_TRUE(solver.Propagate());

  EXPECT_EQ(table.level(both), 50 * kUnit);
  EXPECT_EQ(table.level(first), 50 * kUnit);
  EXPECT_EQ(table.level(second), 150 * kUnit);
  EXPECT_EQ(table.BoundLink(both), 0u);
  EXPECT_EQ(table.BoundLink(second), 1u);
  EXPECT_TRUE(agenda.Empty());
  EXPECT_TRUE(Certified(table, 1e-9));
}

TEST_F(LevelSolverTest, AFlowBelowItsLinksShareRunsAtItsCap) {
  const FlowTable::Slot capped = Start({{.link = 0}}, 20 * kUnit);
  const FlowTable::Slot free = Start({{.link = 0}});

  ASSERT_TRUE(solver.Propagate());

  EXPECT_EQ(table.level(capped), 20 * kUnit);
  EXPECT_EQ(table.BoundLink(capped), FlowTable::kNone);
  EXPECT_EQ(table.level(free), 80 * kUnit);
}

TEST_F(LevelSolverTest, ALinkThatNarrowsTakesFlowsFromTheOneThatBoundThem) {
  const FlowTable::Slot slot = Start({{.link = 0}, {.link = 1}});
  ASSERT_TRUE(solver.Propagate());
  ASSERT_EQ(table.BoundLink(slot), 0u);

  const std::uint64_t before = table.link(1).capacity;
  table.link(1).capacity = 40 * kUnit;
  pruner.Refeed(1, before);
  agenda.Mark(1);
  ASSERT_TRUE(solver.Propagate());

  EXPECT_EQ(table.BoundLink(slot), 1u);
  EXPECT_EQ(table.level(slot), 40 * kUnit);
  EXPECT_EQ(solver.SeatOf(slot).group, 1u);
  EXPECT_GE(solver.counters().moves, 2u);
}

TEST_F(LevelSolverTest, AFlowWithoutASeatLeavesItsLinkUnbound) {
  const FlowTable::Slot slot = Start({{.link = 0}});
  ASSERT_TRUE(solver.Propagate());

  solver.Unseat(slot);

  EXPECT_EQ(table.link(0).bound, 0u);
  EXPECT_EQ(table.link(0).level, FlowTable::kUnbound);
}

}  // namespace
}  // namespace eidolon::network::flow
