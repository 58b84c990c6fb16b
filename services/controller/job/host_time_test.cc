#include "services/controller/job/host_time.h"

#include <gtest/gtest.h>

#include <cmath>

namespace eidolon::controller::job {
namespace {

ClusterSpec ClusterWith(const char* cpu) {
  ClusterSpec cluster;
  cluster.cpu = cpu;
  return cluster;
}

TEST(HostTimeTest, NamesTheModelAndTheProcessor) {
  JobSpec spec;
  spec.host_model = HostModel::kFixed;
  const HostTime host = HostTimeOf(spec, ClusterWith("EPYC-7742"));

  EXPECT_EQ(host.model, HostModel::kFixed);
  EXPECT_EQ(host.cpu, "EPYC-7742");
}

TEST(HostTimeTest, TheFixedModelIsLessCertainThanTheMeasuredOne) {
  JobSpec fixed, measured;
  fixed.host_model = HostModel::kFixed;
  measured.host_model = HostModel::kMeasured;

  EXPECT_GT(HostTimeOf(fixed, ClusterWith("Xeon-8480C")).error,
            HostTimeOf(measured, ClusterWith("Xeon-8480C")).error);
}

TEST(HostTimeTest, AProcessorKnownWithLessCertaintyWidensTheError) {
  EXPECT_GT(HostTimeOf({}, ClusterWith("Grace")).error,
            HostTimeOf({}, ClusterWith("Xeon-8480C")).error);
}

TEST(HostTimeTest, AnUnknownProcessorWidensTheErrorUnlessTheJobGivesItsSpeed) {
  ClusterSpec cluster = ClusterWith("Xeon-8480C");
  const double known = HostTimeOf({}, cluster).error;
  cluster.cpu_is_unknown = true;

  EXPECT_NEAR(HostTimeOf({}, cluster).error, std::hypot(0.20, 0.33), 1e-12);
  EXPECT_TRUE(HostTimeOf({}, cluster).cpu_is_unknown);
  cluster.cpu_speed_ratio = 1;
  EXPECT_NEAR(HostTimeOf({}, cluster).error, known, 0.02);
}

TEST(HostTimeTest, ARatioOfTheJobIsKeptExceptInTheFixedModel) {
  ClusterSpec cluster = ClusterWith("Xeon-8480C");
  cluster.cpu_speed_ratio = 2;
  JobSpec fixed;
  fixed.host_model = HostModel::kFixed;

  JobSpec measured;
  measured.host_model = HostModel::kMeasured;

  EXPECT_EQ(HostTimeOf({}, cluster).model, HostModel::kCounted);
  EXPECT_DOUBLE_EQ(HostTimeOf({}, cluster).speed_ratio, 2);
  EXPECT_DOUBLE_EQ(HostTimeOf(measured, cluster).speed_ratio, 2);
  EXPECT_DOUBLE_EQ(HostTimeOf(fixed, cluster).speed_ratio, 0);
}

}  // namespace
}  // namespace eidolon::controller::job
