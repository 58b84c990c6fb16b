#include "services/agent/session/iterations.h"

#include <gtest/gtest.h>

#include "services/agent/session/parts_fixture.h"

namespace eidolon::agent::session {
namespace {

using base::SimTime;
using ::eidolon::ring::MarkRecord;
using ::eidolon::ring::RecordKind;

class IterationsTest : public PartsFixture {
 protected:
  void Push(Iterations* iterations, std::string_view name, std::int64_t clock) {
    MarkRecord mark{};
    mark.name_bytes = static_cast<std::uint32_t>(name.size());
    iterations->NoteRange(View(RecordKind::kRangePush, mark, name),
                          {.sequence = 0, .host_clock = SimTime{clock}});
  }
  void Pop(Iterations* iterations, std::int64_t clock) {
    iterations->NoteRange(View(RecordKind::kRangePop, MarkRecord{}),
                          {.sequence = 0, .host_clock = SimTime{clock}});
  }
  UsageLedger usage_;
};

TEST_F(IterationsTest, AnIterationLastsFromOnePushOfTheRangeToTheNext) {
  Iterations iterations({.nvtx = "step"}, "", &host_, &usage_);
  Push(&iterations, "step", 100);
  Push(&iterations, "step", 150);  // Inside: not another one.
  Pop(&iterations, 160);
  Pop(&iterations, 200);
  Push(&iterations, "load", 210);
  Pop(&iterations, 220);
  Push(&iterations, "step", 300);
  Pop(&iterations, 350);
  iterations.End({.sequence = 0, .host_clock = SimTime{900}}, iteration::ProgramEnd::kWell);

  const auto first = iterations.Take();
  const auto second = iterations.Take();

  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->start, SimTime{100});
  EXPECT_EQ(first->end, SimTime{300});
  EXPECT_EQ(second->end, SimTime{350});
  EXPECT_FALSE(iterations.Take().has_value());
}

TEST_F(IterationsTest, ARangeThatIsStillOpenEndsWithTheProgram) {
  Iterations iterations({.nvtx = "step"}, "", &host_, &usage_);
  Push(&iterations, "step", 100);

  iterations.End({.sequence = 0, .host_clock = SimTime{900}}, iteration::ProgramEnd::kWell);

  EXPECT_EQ(iterations.Take()->end, SimTime{900});
}

TEST_F(IterationsTest, LinesCountOnlyWhenTheRuleSaysSo) {
  Iterations by_log({.by_log = true}, "", &host_, &usage_);
  Iterations by_range({.nvtx = "step"}, "", &host_, &usage_);

  by_log.EndByLog({.sequence = 0, .host_clock = SimTime{500}});
  by_range.EndByLog({.sequence = 0, .host_clock = SimTime{500}});
  Push(&by_log, "step", 600);

  EXPECT_EQ(by_log.ledger().ended(), 1u);
  EXPECT_EQ(by_range.ledger().ended(), 0u);
}

TEST_F(IterationsTest, UsageIsFrozenWithTheLastWantedIteration) {
  Iterations iterations({.by_log = true, .wanted = 2}, "", &host_, &usage_);
  iterations.EndByLog({.sequence = 0, .host_clock = SimTime{500}});
  usage_.RefuseCall("early", 1);
  iterations.EndByLog({.sequence = 0, .host_clock = SimTime{600}});
  usage_.RefuseCall("late", 1);

  EXPECT_TRUE(usage_.reported().refused_calls.contains("early"));
  EXPECT_FALSE(usage_.reported().refused_calls.contains("late"));
  EXPECT_TRUE(usage_.now().refused_calls.contains("late"));
}

TEST_F(IterationsTest, ACollectiveCountsFromWhenItsRankIsReady) {
  Iterations iterations({.by_log = true}, "", &host_, &usage_);
  const auto basis = host_.costs().InternBasis(estimate::Source::kModelled, 0, "nccl ring", 0);
  iterations.Add({.sequence = 0,
                  .stream = 0,
                  .device = 0,
                  .kind = device::OpKind::kCollective,
                  .host_bound = false,
                  .tag = 0,
                  .ready = SimTime{100},
                  .start = SimTime{400},
                  .finish = SimTime{900}},
                 {.basis = basis, .name = 0});
  iterations.EndByLog({.sequence = 1, .host_clock = SimTime{900}});

  const auto report = iterations.Take();

  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->split.breakdown.exposed_communication.ps, 800);
}

}  // namespace
}  // namespace eidolon::agent::session
