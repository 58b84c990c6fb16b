// NVML's questions about links: NVLink and its switches, PCIe paths, peer access, fabric
// registration.
#pragma once

#include "shim/vendor/nvml/library_state.h"

namespace eidolon::shim::nvml::topology {

nvmlReturn_t GetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t* state);
nvmlReturn_t GetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int* version);
nvmlReturn_t GetNvLinkCapability(nvmlDevice_t device, unsigned int link,
                                 nvmlNvLinkCapability_t capability, unsigned int* result);
nvmlReturn_t GetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                       nvmlIntNvLinkDeviceType_t* type);
nvmlReturn_t GetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t* pci);
nvmlReturn_t GetP2PStatus(nvmlDevice_t first, nvmlDevice_t second, nvmlGpuP2PCapsIndex_t index,
                          nvmlGpuP2PStatus_t* status);
nvmlReturn_t GetCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                               nvmlGpuTopologyLevel_t* level);
nvmlReturn_t GetNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int* count,
                            nvmlDevice_t* devices);
nvmlReturn_t OnSameBoard(nvmlDevice_t first, nvmlDevice_t second, int* same);
nvmlReturn_t GetFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t* info);
nvmlReturn_t GetFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info);
nvmlReturn_t GetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values);
nvmlReturn_t GetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long* cpus);
nvmlReturn_t GetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words, unsigned long* cpus,
                                       nvmlAffinityScope_t scope);
nvmlReturn_t GetMemoryAffinity(nvmlDevice_t device, unsigned int words, unsigned long* nodes,
                               nvmlAffinityScope_t scope);
nvmlReturn_t GetNumaNodeId(nvmlDevice_t device, unsigned int* node);

}  // namespace eidolon::shim::nvml::topology
