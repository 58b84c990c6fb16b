#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <span>
#include <string>

#include "shim/core/fake_agent.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/vendor/nvml/device.h"
#include "shim/vendor/nvml/sensors.h"
#include "shim/vendor/nvml/topology.h"
#include "shim/vendor/nvml/usage.h"

namespace eidolon::shim::nvml {
namespace {

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(library_state::Init(), NVML_SUCCESS);
    EXPECT_EQ(device::GetHandleByIndex(0, &first_), NVML_SUCCESS);
    EXPECT_EQ(device::GetHandleByIndex(1, &second_), NVML_SUCCESS);
  }
  ~NvmlTest() override {
    library_state::Shutdown();
    agent_.AnswerWith(core::FakeAgent::DefaultAnswer);
  }

  // Every GPU reads so from now on.
  void AnswerSensors(const ring::DeviceSensors& sensors) {
    agent_.AnswerWith([sensors](const core::FakeAgent::Record& record) {
      core::FakeAgent::Reply reply = core::FakeAgent::DefaultAnswer(record);
      if (record.kind() != ring::RecordKind::kSensors) return reply;
      const auto bytes = std::as_bytes(std::span(&sensors, 1));
      reply.payload.assign(bytes.begin(), bytes.end());
      return reply;
    });
  }

  core::FakeAgent& agent_;
  nvmlDevice_t first_ = nullptr, second_ = nullptr;
};

TEST_F(NvmlTest, NothingIsAnsweredBeforeInit) {
  library_state::Shutdown();
  unsigned count = 0;
  EXPECT_EQ(device::GetCount(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(library_state::Shutdown(), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(library_state::InitWithFlags(0), NVML_SUCCESS);
}

TEST_F(NvmlTest, TellsVersions) {
  char text[80];
  int cuda = 0;
  EXPECT_EQ(library_state::GetDriverVersion(text, sizeof(text)), NVML_SUCCESS);
  EXPECT_STREQ(text, "580.82.07");
  EXPECT_EQ(library_state::GetDriverVersion(text, 4), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(library_state::GetNvmlVersion(text, sizeof(text)), NVML_SUCCESS);
  EXPECT_EQ(library_state::GetCudaDriverVersion(&cuda), NVML_SUCCESS);
  EXPECT_EQ(cuda, 13020);
  EXPECT_STREQ(library_state::ErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
}

TEST_F(NvmlTest, FindsDevicesByUuidBusAndSerial) {
  char uuid[96];
  char serial[32];
  nvmlPciInfo_t pci;
  ASSERT_EQ(device::GetUuid(second_, uuid, sizeof(uuid)), NVML_SUCCESS);
  ASSERT_EQ(device::GetSerial(second_, serial, sizeof(serial)), NVML_SUCCESS);
  ASSERT_EQ(device::GetPciInfo(second_, &pci), NVML_SUCCESS);
  EXPECT_THAT(uuid, ::testing::StartsWith("GPU-"));
  EXPECT_EQ(std::string(uuid).size(), 40u);

  nvmlDevice_t found = nullptr;
  EXPECT_EQ(device::GetHandleByUuid(uuid, &found), NVML_SUCCESS);
  EXPECT_EQ(found, second_);
  EXPECT_EQ(device::GetHandleByPciBusId(pci.busId, &found), NVML_SUCCESS);
  EXPECT_EQ(found, second_);
  EXPECT_EQ(device::GetHandleByPciBusId(pci.busIdLegacy, &found), NVML_SUCCESS);
  EXPECT_EQ(found, second_);
  EXPECT_EQ(device::GetHandleBySerial(serial, &found), NVML_SUCCESS);
  EXPECT_EQ(device::GetHandleByUuid("GPU-nobody", &found), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(device::GetHandleByIndex(2, &found), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, AnswersAsTheGpuModelSays) {
  const auto expected = core::DefaultDevice(0);
  char name[128];
  int major = 0, minor = 0;
  unsigned clock = 0, limit = 0;
  EXPECT_EQ(device::GetName(first_, name, sizeof(name)), NVML_SUCCESS);
  EXPECT_STREQ(name, expected.name);
  EXPECT_EQ(device::GetComputeCapability(first_, &major, &minor), NVML_SUCCESS);
  EXPECT_EQ(major, 9);
  EXPECT_EQ(device::GetMaxClockInfo(first_, NVML_CLOCK_SM, &clock), NVML_SUCCESS);
  EXPECT_EQ(clock, expected.sm_clock_khz / 1000);
  EXPECT_EQ(device::GetPowerManagementLimit(first_, &limit), NVML_SUCCESS);
  EXPECT_EQ(limit, expected.power_limit_milliwatts);
  EXPECT_EQ(device::GetName(nullptr, name, sizeof(name)), NVML_ERROR_INVALID_ARGUMENT);
}

// An H100 at its power limit.
constexpr ring::DeviceSensors kAtTheLimit = {.time_ps = 2'000'000'000'000,
                                             .energy_microjoules = 1'234'567'891,
                                             .slowed_ps = 1'500'000'000'000,
                                             .power_known = 1,
                                             .mean_milliwatts = 686'000,
                                             .instant_milliwatts = 691'000,
                                             .clock_share = 896,
                                             .busy_permille = 994,
                                             .memory_permille = 231,
                                             .default_milliwatts = 700'000};

TEST_F(NvmlTest, SensorsReadWhatTheAgentKnowsOfThatGpu) {
  AnswerSensors(kAtTheLimit);
  unsigned milliwatts = 0, clock = 0, memory_clock = 0;
  unsigned long long millijoules = 0, reasons = 0;
  nvmlUtilization_t utilization;
  nvmlViolationTime_t violation;
  EXPECT_EQ(sensors::GetPowerUsage(second_, &milliwatts), NVML_SUCCESS);
  EXPECT_EQ(milliwatts, 686'000u);
  EXPECT_EQ(agent_.RecordsOf(ring::RecordKind::kSensors).back().header().device, 1);
  EXPECT_EQ(sensors::GetTotalEnergyConsumption(first_, &millijoules), NVML_SUCCESS);
  EXPECT_EQ(millijoules, 1'234'567u);
  EXPECT_EQ(sensors::GetClockInfo(first_, NVML_CLOCK_SM, &clock), NVML_SUCCESS);
  EXPECT_EQ(clock, 1980u * 896 / 1024);
  EXPECT_EQ(sensors::GetClockInfo(first_, NVML_CLOCK_MEM, &memory_clock), NVML_SUCCESS);
  EXPECT_EQ(memory_clock, 2619u);
  EXPECT_EQ(sensors::GetClock(first_, NVML_CLOCK_SM, NVML_CLOCK_ID_APP_CLOCK_TARGET, &clock),
            NVML_SUCCESS);
  EXPECT_EQ(clock, 1980u);
  EXPECT_EQ(sensors::GetClocksEventReasons(first_, &reasons), NVML_SUCCESS);
  EXPECT_EQ(reasons, static_cast<unsigned long long>(nvmlClocksEventReasonSwPowerCap));
  EXPECT_EQ(sensors::GetUtilizationRates(first_, &utilization), NVML_SUCCESS);
  EXPECT_EQ(utilization.gpu, 99u);
  EXPECT_EQ(utilization.memory, 23u);
  EXPECT_EQ(sensors::GetViolationStatus(first_, NVML_PERF_POLICY_POWER, &violation), NVML_SUCCESS);
  EXPECT_EQ(violation.violationTime, 1'500'000'000u);
}

TEST_F(NvmlTest, FieldsOfPowerAndEnergyAreThoseOfTheSensors) {
  AnswerSensors(kAtTheLimit);
  nvmlFieldValue_t values[4] = {{.fieldId = NVML_FI_DEV_POWER_INSTANT},
                                {.fieldId = NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION},
                                {.fieldId = NVML_FI_DEV_POWER_AVERAGE},
                                {.fieldId = NVML_FI_DEV_POWER_DEFAULT_LIMIT}};
  ASSERT_EQ(topology::GetFieldValues(first_, 4, values), NVML_SUCCESS);
  for (const nvmlFieldValue_t& value : values) EXPECT_EQ(value.nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(values[0].value.uiVal, 691'000u);
  EXPECT_EQ(values[1].valueType, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
  EXPECT_EQ(values[1].value.ullVal, 1'234'567u);
  EXPECT_EQ(values[2].value.uiVal, 686'000u);
  EXPECT_EQ(values[3].value.uiVal, 700'000u);
  const std::int64_t epoch_us = core::Session::Existing()->header().epoch_unix_ns / 1000;
  EXPECT_EQ(values[1].timestamp, epoch_us + 2'000'000);
}

TEST_F(NvmlTest, AGpuWhosePowerIsNotKnownHasNoSensorOfIt) {
  AnswerSensors({.clock_share = 1024, .busy_permille = 0, .default_milliwatts = 400'000});
  unsigned milliwatts = 7, least = 0, most = 0;
  unsigned long long millijoules = 7, reasons = 0;
  EXPECT_EQ(sensors::GetPowerUsage(first_, &milliwatts), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(sensors::GetTotalEnergyConsumption(first_, &millijoules), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(milliwatts, 7u);
  EXPECT_EQ(millijoules, 7u);
  nvmlFieldValue_t value{.fieldId = NVML_FI_DEV_POWER_INSTANT};
  ASSERT_EQ(topology::GetFieldValues(first_, 1, &value), NVML_SUCCESS);
  EXPECT_EQ(value.nvmlReturn, NVML_ERROR_NOT_SUPPORTED);

  EXPECT_EQ(sensors::GetClocksEventReasons(first_, &reasons), NVML_SUCCESS);
  EXPECT_EQ(reasons, static_cast<unsigned long long>(nvmlClocksEventReasonGpuIdle));
  EXPECT_EQ(sensors::GetPowerLimitConstraints(first_, &least, &most), NVML_SUCCESS);
  EXPECT_EQ(least, 400'000u);
  EXPECT_EQ(most, 700'000u);
  EXPECT_EQ(sensors::GetPowerUsage(nullptr, &milliwatts), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, PartsThatNoGpuHasAreNotSupportedAndMemoryHasNoErrors) {
  unsigned number = 7;
  unsigned long long errors = 7;
  nvmlC2cModeInfo_v1_t link{};
  nvmlGpmSupport_t support{.version = NVML_GPM_SUPPORT_VERSION, .isSupportedDevice = 7};
  EXPECT_EQ(device::GetSpeedOfFan(first_, 0, &number), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(device::GetC2cModeInfo(first_, &link), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(device::GetNumFans(first_, &number), NVML_SUCCESS);
  EXPECT_EQ(number, 0u);
  EXPECT_EQ(device::GetGpmSupport(first_, &support), NVML_SUCCESS);
  EXPECT_EQ(support.isSupportedDevice, 0u);
  EXPECT_EQ(device::GetTotalEccErrors(first_, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC,
                                      &errors),
            NVML_SUCCESS);
  EXPECT_EQ(errors, 0u);
  EXPECT_EQ(device::GetFanSpeed(nullptr, &number), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, MemoryFollowsTheAllocationBook) {
  gpu::SetDevice(0);
  nvmlMemory_t before, after;
  ASSERT_EQ(usage::GetMemoryInfo(first_, &before), NVML_SUCCESS);
  std::uint64_t address = 0;
  ASSERT_EQ(gpu::Allocate(0, 64 << 20, &address), gpu::Status::kSuccess);
  ASSERT_EQ(usage::GetMemoryInfo(first_, &after), NVML_SUCCESS);

  EXPECT_EQ(after.used - before.used, 64ull << 20);
  EXPECT_EQ(after.used + after.free, after.total);

  nvmlMemory_v2_t second{.version = 1};
  EXPECT_EQ(usage::GetMemoryInfoV2(first_, &second), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  second.version = nvmlMemory_v2;
  EXPECT_EQ(usage::GetMemoryInfoV2(first_, &second), NVML_SUCCESS);
  EXPECT_EQ(second.used, after.used);

  unsigned count = 1;
  nvmlProcessInfo_t process;
  EXPECT_EQ(usage::GetComputeProcesses(first_, &count, &process), NVML_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(process.pid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(process.usedGpuMemory, after.used);
  gpu::Free(address);
}

TEST_F(NvmlTest, LinksMeetInASwitch) {
  nvmlEnableState_t state;
  unsigned version = 0;
  nvmlIntNvLinkDeviceType_t type;
  nvmlGpuP2PStatus_t peer;
  const auto expected = core::DefaultDevice(0);
  EXPECT_EQ(topology::GetNvLinkState(first_, 0, &state), NVML_SUCCESS);
  EXPECT_EQ(state, NVML_FEATURE_ENABLED);
  EXPECT_EQ(topology::GetNvLinkVersion(first_, 0, &version), NVML_SUCCESS);
  EXPECT_EQ(version, expected.nvlink_version);
  EXPECT_EQ(topology::GetNvLinkRemoteDeviceType(first_, 0, &type), NVML_SUCCESS);
  EXPECT_EQ(type == NVML_NVLINK_DEVICE_TYPE_SWITCH, expected.nvlink_switch != 0);
  EXPECT_EQ(topology::GetNvLinkState(first_, expected.nvlink_count, &state),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(topology::GetP2PStatus(first_, second_, NVML_P2P_CAPS_INDEX_NVLINK, &peer),
            NVML_SUCCESS);
  EXPECT_EQ(peer, NVML_P2P_STATUS_OK);
  nvmlGpuTopologyLevel_t level;
  EXPECT_EQ(topology::GetCommonAncestor(first_, second_, &level), NVML_SUCCESS);
  unsigned count = 0;
  EXPECT_EQ(topology::GetNearestGpus(first_, NVML_TOPOLOGY_SYSTEM, &count, nullptr), NVML_SUCCESS);
  EXPECT_EQ(count, 1u);
}

TEST_F(NvmlTest, FieldsAreAnsweredOneByOne) {
  nvmlFieldValue_t values[2] = {};
  values[0].fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT;
  values[1].fieldId = NVML_FI_DEV_ECC_CURRENT;

  ASSERT_EQ(topology::GetFieldValues(first_, 2, values), NVML_SUCCESS);

  EXPECT_EQ(values[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(values[0].value.uiVal, core::DefaultDevice(0).nvlink_count);
  EXPECT_EQ(values[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(NvmlTest, NoFabricReachesBeyondTheServer) {
  nvmlGpuFabricInfoV_t info{};
  info.version = nvmlGpuFabricInfo_v2;
  EXPECT_EQ(topology::GetFabricInfoV(first_, &info), NVML_SUCCESS);
  EXPECT_EQ(info.state, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
  unsigned long cpus[4] = {};
  EXPECT_EQ(topology::GetCpuAffinity(first_, 4, cpus), NVML_SUCCESS);
  EXPECT_NE(cpus[0], 0u);
}

}  // namespace
}  // namespace eidolon::shim::nvml
