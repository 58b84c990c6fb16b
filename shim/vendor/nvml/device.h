// NVML's questions about one GPU that the GPU model answers: identity, limits, modes.
#pragma once

#include "shim/vendor/nvml/library_state.h"

namespace eidolon::shim::nvml::device {

nvmlReturn_t GetCount(unsigned int* count);
nvmlReturn_t GetHandleByIndex(unsigned int index, nvmlDevice_t* device);
nvmlReturn_t GetHandleByUuid(const char* uuid, nvmlDevice_t* device);
nvmlReturn_t GetHandleByUuidV(const nvmlUUID_t* uuid, nvmlDevice_t* device);
nvmlReturn_t GetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device);
nvmlReturn_t GetHandleBySerial(const char* serial, nvmlDevice_t* device);
nvmlReturn_t GetIndex(nvmlDevice_t device, unsigned int* index);
nvmlReturn_t GetMinorNumber(nvmlDevice_t device, unsigned int* minor);
nvmlReturn_t GetModuleId(nvmlDevice_t device, unsigned int* module);
nvmlReturn_t GetName(nvmlDevice_t device, char* name, unsigned int length);
nvmlReturn_t GetUuid(nvmlDevice_t device, char* uuid, unsigned int length);
nvmlReturn_t GetSerial(nvmlDevice_t device, char* serial, unsigned int length);
nvmlReturn_t GetBrand(nvmlDevice_t device, nvmlBrandType_t* brand);
nvmlReturn_t GetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t* architecture);
nvmlReturn_t GetComputeCapability(nvmlDevice_t device, int* major, int* minor);
nvmlReturn_t GetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci);
nvmlReturn_t GetNumGpuCores(nvmlDevice_t device, unsigned int* cores);
nvmlReturn_t GetMemoryBusWidth(nvmlDevice_t device, unsigned int* bits);

nvmlReturn_t GetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int* megahertz);
// The limit that holds, which is server.powerLimit of the cluster.
nvmlReturn_t GetPowerManagementLimit(nvmlDevice_t device, unsigned int* milliwatts);
nvmlReturn_t GetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t GetPerformanceState(nvmlDevice_t device, nvmlPstates_t* state);
nvmlReturn_t GetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t GetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode);
nvmlReturn_t GetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                        nvmlEnableState_t* pending);
nvmlReturn_t GetMigMode(nvmlDevice_t device, unsigned int* current, unsigned int* pending);
nvmlReturn_t IsMigDevice(nvmlDevice_t device, unsigned int* is_mig);
nvmlReturn_t GetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count);
nvmlReturn_t GetDisplayMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t GetVirtualizationMode(nvmlDevice_t device, nvmlGpuVirtualizationMode_t* mode);
nvmlReturn_t GetPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation);
nvmlReturn_t GetPcieLinkWidth(nvmlDevice_t device, unsigned int* width);
// What no emulated GPU has: fans, a mode of NVLink-C2C, counters of GPM.
nvmlReturn_t GetFanSpeed(nvmlDevice_t device, unsigned int* percent);
nvmlReturn_t GetSpeedOfFan(nvmlDevice_t device, unsigned int fan, unsigned int* percent);
nvmlReturn_t GetNumFans(nvmlDevice_t device, unsigned int* count);
nvmlReturn_t GetC2cModeInfo(nvmlDevice_t device, nvmlC2cModeInfo_v1_t* info);
nvmlReturn_t GetGpmSupport(nvmlDevice_t device, nvmlGpmSupport_t* support);
// Memory has no errors.
nvmlReturn_t GetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                   nvmlEccCounterType_t counter, nvmlMemoryLocation_t location,
                                   unsigned long long* count);
nvmlReturn_t GetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                               nvmlEccCounterType_t counter, unsigned long long* count);

}  // namespace eidolon::shim::nvml::device
