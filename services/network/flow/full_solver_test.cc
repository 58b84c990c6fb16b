#include "services/network/flow/full_solver.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/base/random.h"
#include "services/network/flow/certificate.h"
#include "services/network/flow/pruner.h"

namespace eidolon::network::flow {
namespace {

constexpr std::uint64_t kFullUnit = std::uint64_t{1} << kRateBits;

struct FullSolverTest : testing::Test {
  FlowTable::Slot Start(const std::vector<Hop>& hops, std::uint64_t cap = kRateMax,
                        std::uint32_t weight = 1) {
    const FlowTable::Slot slot = table.Add({.work = 1, .cap = cap, .weight = weight, .hops = hops});
    pruner.Join(slot);
    order.Enter(slot, 1);
    holds.Begin(slot);
    return slot;
  }
  FlowTable table{std::vector<std::uint64_t>{100, 200, 50, 1000}};
  FinishOrder order{4};
  LinkAgenda agenda{table};
  Pruner pruner{table, agenda};
  HoldTable holds{{}};
  FullSolver solver{table, agenda, order, holds};
};

TEST_F(FullSolverTest, FillsTheSlowestLinkFirst) {
  const FlowTable::Slot both = Start({{.link = 0}, {.link = 1}});
  const FlowTable::Slot first = Start({{.link = 0}});
  const FlowTable::Slot second = Start({{.link = 1}});

  solver.Solve();

  EXPECT_EQ(table.level(both), 50 * kFullUnit);
  EXPECT_EQ(table.level(first), 50 * kFullUnit);
  EXPECT_EQ(table.level(second), 150 * kFullUnit);
  EXPECT_EQ(table.link(0).bound, 2u);
  EXPECT_EQ(table.link(1).foreign, 50 * kFullUnit);
}

TEST_F(FullSolverTest, LeavesNothingOnTheAgenda) {
  Start({{.link = 0}});
  table.link(0).foreign = table.link(0).capacity + 1;
  agenda.Mark(0);
  ASSERT_FALSE(agenda.Empty());

  solver.Solve();

  EXPECT_TRUE(agenda.Empty());
}

TEST_F(FullSolverTest, SharesOfRandomFlowsAreCertified) {
  base::Random random(3);
  for (int flow = 0; flow < 40; ++flow) {
    const auto from = static_cast<std::uint32_t>(random.Below(4));
    const auto to = (from + 1 + static_cast<std::uint32_t>(random.Below(3))) % 4;
    const std::uint64_t cap = random.Below(3) == 0 ? (1 + random.Below(30)) * kFullUnit : kRateMax;
    Start({{.link = from}, {.link = to}}, cap, 1 + static_cast<std::uint32_t>(random.Below(4)));
  }

  solver.Solve();

  EXPECT_TRUE(Certified(table, 1e-9));
  EXPECT_EQ(solver.moves(), 40u);
}

TEST_F(FullSolverTest, ACertificateSeesAFlowThatCouldBeFaster) {
  const FlowTable::Slot slot = Start({{.link = 0}});
  solver.Solve();
  ASSERT_TRUE(Certified(table, 1e-9));

  table.level(slot) /= 2;
  EXPECT_FALSE(Certified(table, 1e-9));
  table.level(slot) *= 4;
  EXPECT_FALSE(Certified(table, 1e-9)) << "the link carries too much";
}

}  // namespace
}  // namespace eidolon::network::flow
