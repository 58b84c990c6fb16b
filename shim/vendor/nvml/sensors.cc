#include "shim/vendor/nvml/sensors.h"

#include <algorithm>
#include <optional>
#include <span>

#include "services/contract/ring/record.h"
#include "shim/core/session.h"
#include "shim/core/thread_role.h"
#include "shim/vendor/nvml/device.h"

namespace eidolon::shim::nvml::sensors {
namespace {

// In picoseconds.
constexpr std::uint64_t kNanosecond = 1000;
constexpr std::uint64_t kMicrosecond = 1'000'000;
// NVML's sampling period of utilization that the readings have (services/agent/server/sensors.h).
constexpr unsigned kUtilizationPeriodUs = 166'667;
constexpr std::uint32_t kWholeClock = 1024;

// Writes an answer that is made of the readings.
template <typename T, typename Answer>
nvmlReturn_t Tell(nvmlDevice_t device, T* target, Answer&& answer) {
  if (target == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  ring::DeviceSensors sensors{};
  if (const auto status = Read(device, &sensors); status != NVML_SUCCESS) return status;
  const std::optional<T> told = answer(sensors);
  if (!told.has_value()) return NVML_ERROR_NOT_SUPPORTED;
  *target = *told;
  return NVML_SUCCESS;
}

// The same for what needs the GPU's power, which is not known of every model.
template <typename T, typename Answer>
nvmlReturn_t TellPower(nvmlDevice_t device, T* target, Answer&& answer) {
  return Tell(device, target, [&answer](const ring::DeviceSensors& sensors) -> std::optional<T> {
    if (sensors.power_known == 0) return std::nullopt;
    return static_cast<T>(answer(sensors));
  });
}

// Wall-clock time of the readings in microseconds.
std::uint64_t UnixMicroseconds(const ring::DeviceSensors& sensors) {
  constexpr std::uint64_t kNsPerUs = 1000;
  const core::Session* session = core::Session::Existing();
  const auto epoch = session == nullptr ? 0 : session->header().epoch_unix_ns;
  return static_cast<std::uint64_t>(epoch) / kNsPerUs + sensors.time_ps / kMicrosecond;
}

// Value of the field; nothing where the GPU has none. False: no field of these.
bool FindField(unsigned field, const ring::DeviceSensors& sensors,
               std::optional<std::uint64_t>* value, nvmlValueType_t* type) {
  const bool known = sensors.power_known != 0;
  *type = NVML_VALUE_TYPE_UNSIGNED_INT;
  switch (field) {
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
    case NVML_FI_DEV_ENERGY:
      *type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
      if (known) *value = sensors.energy_microjoules / 1000;
      return true;
    case NVML_FI_DEV_POWER_AVERAGE:
      if (known) *value = sensors.mean_milliwatts;
      return true;
    case NVML_FI_DEV_POWER_INSTANT:
      if (known) *value = sensors.instant_milliwatts;
      return true;
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
    case NVML_FI_DEV_POWER_MAX_LIMIT:
      *value = sensors.default_milliwatts;
      return true;
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP:
      *type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
      *value = sensors.slowed_ps / kNanosecond;
      return true;
    default:
      return false;
  }
}

}  // namespace

nvmlReturn_t Read(nvmlDevice_t device, ring::DeviceSensors* sensors) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const int index = IndexOf(device);
  if (index < 0) return NVML_ERROR_INVALID_ARGUMENT;
  core::Session* session = core::Session::GetForQueries();
  if (session == nullptr) return NVML_ERROR_UNINITIALIZED;
  ring::WaitRecord question{};
  question.header.kind = ring::RecordKind::kSensors;
  question.header.device = static_cast<std::uint16_t>(index);
  question.observer = core::CurrentRole() == core::ThreadRole::kDriver ? 0 : 1;
  const core::Session::Answer answer =
      core::Ask(*session, question, false, std::as_writable_bytes(std::span(sensors, 1)));
  const bool is_whole =
      answer.status == ring::ReplyStatus::kOk && answer.payload_bytes == sizeof(*sensors);
  return is_whole ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

nvmlReturn_t GetPowerUsage(nvmlDevice_t device, unsigned int* milliwatts) {
  // The mean of a second, as of all GPUs since Ampere but the A100.
  return TellPower(device, milliwatts, [](const auto& s) { return s.mean_milliwatts; });
}

nvmlReturn_t GetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* millijoules) {
  return TellPower(device, millijoules, [](const auto& s) { return s.energy_microjoules / 1000; });
}

nvmlReturn_t GetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int* megahertz) {
  unsigned most = 0;
  if (const auto status = device::GetMaxClockInfo(device, type, &most); status != NVML_SUCCESS) {
    return status;
  }
  return Tell(device, megahertz, [most, type](const auto& s) -> std::optional<unsigned> {
    return type == NVML_CLOCK_MEM ? most : most * s.clock_share / kWholeClock;
  });
}

nvmlReturn_t GetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id,
                      unsigned int* megahertz) {
  if (id == NVML_CLOCK_ID_CURRENT) return GetClockInfo(device, type, megahertz);
  return device::GetMaxClockInfo(device, type, megahertz);
}

nvmlReturn_t GetClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return Tell(device, reasons, [](const auto& s) -> std::optional<unsigned long long> {
    if (s.clock_share < kWholeClock) return nvmlClocksEventReasonSwPowerCap;
    return s.busy_permille == 0 ? nvmlClocksEventReasonGpuIdle : nvmlClocksEventReasonNone;
  });
}

nvmlReturn_t GetSupportedClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return Tell(device, reasons, [](const auto&) -> std::optional<unsigned long long> {
    return nvmlClocksEventReasonSwPowerCap | nvmlClocksEventReasonGpuIdle;
  });
}

nvmlReturn_t GetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                nvmlViolationTime_t* time) {
  return Tell(device, time, [policy](const auto& s) -> std::optional<nvmlViolationTime_t> {
    nvmlViolationTime_t told = {.referenceTime = UnixMicroseconds(s), .violationTime = 0};
    if (policy == NVML_PERF_POLICY_POWER || policy == NVML_PERF_POLICY_TOTAL_APP_CLOCKS) {
      told.violationTime = s.slowed_ps / kNanosecond;
    } else if (policy > NVML_PERF_POLICY_RELIABILITY) {
      return std::nullopt;
    }
    return told;
  });
}

nvmlReturn_t GetDefaultPowerLimit(nvmlDevice_t device, unsigned int* milliwatts) {
  return Tell(device, milliwatts,
              [](const auto& s) -> std::optional<unsigned> { return s.default_milliwatts; });
}

nvmlReturn_t GetPowerLimitConstraints(nvmlDevice_t device, unsigned int* least,
                                      unsigned int* most) {
  unsigned limit = 0;
  if (least == nullptr || most == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  auto status = device::GetPowerManagementLimit(device, &limit);
  if (status == NVML_SUCCESS) status = GetDefaultPowerLimit(device, most);
  if (status != NVML_SUCCESS) return status;
  *least = std::min(limit, *most);
  *most = std::max(limit, *most);
  return NVML_SUCCESS;
}

nvmlReturn_t GetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return Tell(device, utilization, [](const auto& s) -> std::optional<nvmlUtilization_t> {
    return nvmlUtilization_t{.gpu = (s.busy_permille + 5) / 10,
                             .memory = (s.memory_permille + 5) / 10};
  });
}

nvmlReturn_t GetIdleEngineUtilization(nvmlDevice_t device, unsigned int* percent,
                                      unsigned int* period_us) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const bool is_valid = IndexOf(device) >= 0 && percent != nullptr && period_us != nullptr;
  if (!is_valid) return NVML_ERROR_INVALID_ARGUMENT;
  *percent = 0;
  *period_us = kUtilizationPeriodUs;
  return NVML_SUCCESS;
}

bool FillField(nvmlDevice_t device, nvmlFieldValue_t* value) {
  std::optional<std::uint64_t> found;
  if (!FindField(value->fieldId, {}, &found, &value->valueType)) return false;
  ring::DeviceSensors sensors{};
  value->nvmlReturn = Read(device, &sensors);
  if (value->nvmlReturn != NVML_SUCCESS) return true;
  FindField(value->fieldId, sensors, &found, &value->valueType);
  if (!found.has_value()) {
    value->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
  } else if (value->valueType == NVML_VALUE_TYPE_UNSIGNED_INT) {
    value->value.uiVal = static_cast<unsigned>(*found);
  } else {
    value->value.ullVal = *found;
  }
  value->timestamp = static_cast<long long>(UnixMicroseconds(sensors));
  value->latencyUsec = 0;
  return true;
}

}  // namespace eidolon::shim::nvml::sensors
