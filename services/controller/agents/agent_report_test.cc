#include "services/controller/agents/agent_report.h"

#include <gtest/gtest.h>

namespace eidolon::controller::agents {
namespace {

TEST(AgentReportTest, EveryTimeOfAnIterationIsRead) {
  v1::Iteration in;
  in.set_rank(1);
  in.set_index(2);
  in.set_start_picoseconds(3);
  in.set_end_picoseconds(4);
  in.set_error_picoseconds(5);
  in.set_host_work_picoseconds(6);
  in.set_copies_to_host_picoseconds(7);
  in.set_copies_to_device_picoseconds(8);
  in.mutable_breakdown()->set_compute_picoseconds(9);
  in.mutable_breakdown()->set_exposed_communication_picoseconds(10);
  in.mutable_breakdown()->set_idle_picoseconds(11);
  in.mutable_breakdown()->set_host_picoseconds(12);
  in.mutable_coverage()->set_measured_picoseconds(13);
  in.mutable_coverage()->set_interpolated_picoseconds(14);
  in.mutable_coverage()->set_modelled_picoseconds(15);
  in.mutable_coverage()->set_assumed_picoseconds(16);

  const job::RankIteration out = FromProto(in);

  EXPECT_EQ(out.rank, 1);
  EXPECT_EQ(out.index, 2u);
  EXPECT_EQ(out.start_ps, 3u);
  EXPECT_EQ(out.end_ps, 4u);
  EXPECT_EQ(out.error_ps, 5u);
  EXPECT_EQ(out.host_work_ps, 6u);
  EXPECT_EQ(out.copies_to_host_ps, 7u);
  EXPECT_EQ(out.copies_to_device_ps, 8u);
  EXPECT_EQ(out.breakdown.compute, 9u);
  EXPECT_EQ(out.breakdown.exposed_communication, 10u);
  EXPECT_EQ(out.breakdown.idle, 11u);
  EXPECT_EQ(out.breakdown.host, 12u);
  EXPECT_EQ(out.coverage.measured, 13u);
  EXPECT_EQ(out.coverage.interpolated, 14u);
  EXPECT_EQ(out.coverage.modelled, 15u);
  EXPECT_EQ(out.coverage.assumed, 16u);
}

}  // namespace
}  // namespace eidolon::controller::agents
