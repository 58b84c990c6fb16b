#include "services/agent/job/device_properties.h"

#include <gtest/gtest.h>

#include "eidolon/controller/v1/controller.pb.h"
#include "eidolon/timing/v1/timing.pb.h"
#include "services/agent/clock/host_costs.h"

namespace eidolon::agent::job {
namespace {

controller::v1::Assignment AJob(controller::v1::HostModel::Kind host_model, double cpu_speed,
                                double speed_ratio) {
  controller::v1::Assignment assignment;
  assignment.mutable_cluster()->set_gpus_per_server(1);
  assignment.mutable_cluster()->mutable_cpu()->set_speed(cpu_speed);
  assignment.mutable_cluster()->set_cpu_speed_ratio(speed_ratio);
  assignment.mutable_host_model()->set_kind(host_model);
  return assignment;
}

::eidolon::ring::HostCosts CostsOf(const controller::v1::Assignment& assignment,
                                   timing::v1::Gpu gpu = {}) {
  gpu.set_multiprocessors(132);
  gpu.set_memory_bytes(std::uint64_t{80} << 30);
  const auto content = SegmentContentOf(assignment, gpu);
  EXPECT_TRUE(content.has_value());
  return content->host_costs;
}

TEST(DevicePropertiesTest, CostsAreThoseOfTheTargetsProcessor) {
  const auto costs =
      CostsOf(AJob(controller::v1::HostModel::COUNTED, /*cpu_speed=*/2, /*speed_ratio=*/0));
  EXPECT_EQ(costs.frame_ps, clock::CountedHostCosts(2).frame_ps);
  EXPECT_EQ(CostsOf(AJob(controller::v1::HostModel::FIXED, 2, 0)).operator_ps,
            clock::FixedHostCosts(2).operator_ps);
}

TEST(DevicePropertiesTest, AnotherPowerLimitIsWhatNvmlAndTheEngineSee) {
  timing::v1::Gpu gpu;
  gpu.set_multiprocessors(132);
  gpu.set_memory_bytes(std::uint64_t{80} << 30);
  gpu.set_power_limit_watts(700);
  controller::v1::Assignment limited = AJob(controller::v1::HostModel::COUNTED, 1, 0);
  limited.mutable_cluster()->set_gpu_power_limit_watts(500);

  EXPECT_NE(SegmentContentOf(limited, gpu).error().message.find("server.powerLimit"),
            std::string::npos)
      << "nothing is known of its power";
  EXPECT_EQ(PowerOf(gpu, 500).room_milliwatts, 0);

  gpu.mutable_power()->set_floor_milliwatts(126'000);
  gpu.mutable_power()->set_held_share(0.9);
  EXPECT_EQ(SegmentContentOf(AJob(controller::v1::HostModel::COUNTED, 1, 0), gpu)
                ->devices[0]
                .power_limit_milliwatts,
            700'000u);
  EXPECT_EQ(SegmentContentOf(limited, gpu)->devices[0].power_limit_milliwatts, 500'000u);
  EXPECT_EQ(PowerOf(gpu, 0).room_milliwatts, 504'000);
  EXPECT_EQ(PowerOf(gpu, 500).room_milliwatts, 324'000);
  EXPECT_EQ(TraitsOf(gpu, 500, 1)[0].power.floor_milliwatts, 126'000);
}

TEST(DevicePropertiesTest, TheEngineSharesTheBandwidthThatIsAttained) {
  timing::v1::Gpu gpu;
  gpu.set_multiprocessors(132);
  gpu.set_memory_bytes_per_second(2'400'000'000'000);
  EXPECT_EQ(TraitsOf(gpu, 0, 1)[0].memory_bytes_per_second, 0u) << "its durations are fixed";

  gpu.set_attained_memory_share(0.75);
  EXPECT_EQ(TraitsOf(gpu, 0, 1)[0].memory_bytes_per_second, 1'800'000'000'000u);
}

TEST(DevicePropertiesTest, ARatioToThisMachineScalesCountedCostsByItsSpeed) {
  const auto slow =
      CostsOf(AJob(controller::v1::HostModel::COUNTED, /*cpu_speed=*/1, /*speed_ratio=*/0.1));
  const auto quick =
      CostsOf(AJob(controller::v1::HostModel::COUNTED, /*cpu_speed=*/1, /*speed_ratio=*/10));
  // A hundred times as fast, as far as two timings of this machine agree.
  EXPECT_GT(slow.frame_ps, 30 * quick.frame_ps);
  EXPECT_LT(slow.frame_ps, 300 * quick.frame_ps);
  // Fixed costs are the same on every machine.
  EXPECT_EQ(CostsOf(AJob(controller::v1::HostModel::FIXED, 1, 10)).operator_ps,
            clock::FixedHostCosts(1).operator_ps);
}

TEST(DevicePropertiesTest, BesideAGpuWithFixedDurationsCallsCostWhatItSaysOnAnyProcessor) {
  using ::eidolon::ring::CallClass;
  timing::v1::Gpu gpu;
  gpu.mutable_fixed()->set_host_call_picoseconds(3);
  gpu.mutable_fixed()->set_host_operator_picoseconds(4);

  const auto costs = CostsOf(AJob(controller::v1::HostModel::FIXED, /*cpu_speed=*/2, 0), gpu);

  EXPECT_EQ(costs.ps[static_cast<int>(CallClass::kLaunch)], 3u);
  EXPECT_EQ(costs.ps[static_cast<int>(CallClass::kCollective)], 3u);
  // How often it is called differs from run to run.
  EXPECT_EQ(costs.ps[static_cast<int>(CallClass::kThreadState)], 0u);
  EXPECT_EQ(costs.operator_ps, 4u);
  EXPECT_EQ(costs.framework_ps, 4u);
  EXPECT_EQ(CostsOf(AJob(controller::v1::HostModel::COUNTED, 2, 0), gpu).frame_ps,
            clock::CountedHostCosts(2).frame_ps);
}

}  // namespace
}  // namespace eidolon::agent::job
