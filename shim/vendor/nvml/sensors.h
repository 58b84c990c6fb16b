// NVML's questions about what a GPU does now: power, energy, clocks, utilization. The agent answers
// them at the rank's virtual time (services/contract/ring/sensors.h). A GPU whose power is not
// known has no sensor of it: NOT_SUPPORTED, as from boards without one.
#pragma once

#include "services/contract/ring/sensors.h"
#include "shim/vendor/nvml/library_state.h"

namespace eidolon::shim::nvml::sensors {

// Asks the agent. Thread safe.
nvmlReturn_t Read(nvmlDevice_t device, ring::DeviceSensors* sensors);

nvmlReturn_t GetPowerUsage(nvmlDevice_t device, unsigned int* milliwatts);
nvmlReturn_t GetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* millijoules);

// Clocks of the multiprocessors and of video follow the power limit; that of memory does not move.
nvmlReturn_t GetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int* megahertz);
nvmlReturn_t GetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id,
                      unsigned int* megahertz);
nvmlReturn_t GetClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons);
nvmlReturn_t GetSupportedClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons);
nvmlReturn_t GetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                nvmlViolationTime_t* time);

// The limit that the GPU starts with, which is the most that it can have. How far it can be lowered
// is not known: the least is the limit that holds.
nvmlReturn_t GetDefaultPowerLimit(nvmlDevice_t device, unsigned int* milliwatts);
nvmlReturn_t GetPowerLimitConstraints(nvmlDevice_t device, unsigned int* least, unsigned int* most);

nvmlReturn_t GetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization);
// Video engines have no work.
nvmlReturn_t GetIdleEngineUtilization(nvmlDevice_t device, unsigned int* percent,
                                      unsigned int* period_us);

// Fills the value of a field of power, energy or clocks; false when it is none.
bool FillField(nvmlDevice_t device, nvmlFieldValue_t* value);

}  // namespace eidolon::shim::nvml::sensors
