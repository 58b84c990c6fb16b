// Programs choose paths between GPUs by these answers, so they must agree with each other, and with
// the number and generation of links in the GPU model. With switches, every link ends at one of
// four, whose buses (0xf0 to 0xf3) lie behind those of the GPUs; without them, links are spread
// evenly over the other GPUs. The server is one NUMA node, so all processors and all GPUs are
// equally near. Speeds are in MB/s of one link and direction.
#include "shim/vendor/nvml/topology.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "shim/vendor/nvml/device.h"
#include "shim/vendor/nvml/sensors.h"

namespace eidolon::shim::nvml::topology {
namespace {

// Properties of a device that has the link; nullptr when there is none, with NVML's code.
const ring::DeviceProperties* FindLink(nvmlDevice_t device, unsigned int link,
                                       nvmlReturn_t* status) {
  *status = CheckInitialised();
  if (*status != NVML_SUCCESS) return nullptr;
  const int index = IndexOf(device);
  *status = NVML_ERROR_INVALID_ARGUMENT;
  if (index < 0 || link >= NVML_NVLINK_MAX_LINKS) return nullptr;
  const ring::DeviceProperties& properties = PropertiesOf(index);
  if (link >= properties.nvlink_count) {
    // Real GPUs without NVLink answer so; those with fewer links name the argument.
    if (properties.nvlink_count == 0) *status = NVML_ERROR_NOT_SUPPORTED;
    return nullptr;
  }
  *status = NVML_SUCCESS;
  return &properties;
}

// The GPU at the far end of a link where there is no switch: links are spread evenly over the
// others.
int PeerOf(int index, unsigned int link) {
  const int others = DeviceCount() - 1;
  if (others < 1) return index;
  const int peer = static_cast<int>(link) % others;
  return peer < index ? peer : peer + 1;
}

nvmlReturn_t FindPair(nvmlDevice_t first, nvmlDevice_t second) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  return IndexOf(first) < 0 || IndexOf(second) < 0 ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

// All processors of the emulated server are as near as each other: one NUMA node is modelled.
void FillMask(unsigned int words, unsigned long* mask, long count) {
  std::memset(mask, 0, words * sizeof(unsigned long));
  const long bits = static_cast<long>(8 * sizeof(unsigned long));
  for (long i = 0; i < count && i < bits * static_cast<long>(words); ++i) {
    mask[i / bits] |= 1ul << (i % bits);
  }
}

nvmlReturn_t CheckMask(nvmlDevice_t device, unsigned int words, const unsigned long* mask) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  return IndexOf(device) < 0 || words == 0 || mask == nullptr ? NVML_ERROR_INVALID_ARGUMENT
                                                              : NVML_SUCCESS;
}

// Megabytes per second of one link and direction, by NVLink generation.
unsigned LinkSpeed(const ring::DeviceProperties& properties) {
  switch (properties.nvlink_version) {
    case 1:
      return 20'000;
    case 2:
    case 3:
    case 4:
      return 25'781;
    case 5:
      return 50'000;
    default:
      return 0;
  }
}

void FillField(int index, nvmlFieldValue_t* value) {
  const ring::DeviceProperties& properties = PropertiesOf(index);
  value->nvmlReturn = NVML_SUCCESS;
  value->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
  switch (value->fieldId) {
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
      value->value.uiVal = properties.nvlink_count;
      return;
    case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
    case NVML_FI_DEV_NVLINK_GET_SPEED:
      value->value.uiVal = LinkSpeed(properties);
      if (value->value.uiVal == 0) value->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
      return;
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT:
      value->value.uiVal = properties.power_limit_milliwatts;
      return;
    default:
      value->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
      return;
  }
}

}  // namespace

nvmlReturn_t GetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t* state) {
  if (state == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  nvmlReturn_t status;
  if (FindLink(device, link, &status) == nullptr) return status;
  *state = NVML_FEATURE_ENABLED;
  return NVML_SUCCESS;
}

nvmlReturn_t GetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int* version) {
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  nvmlReturn_t status;
  const ring::DeviceProperties* properties = FindLink(device, link, &status);
  if (properties == nullptr) return status;
  *version = properties->nvlink_version;
  return NVML_SUCCESS;
}

nvmlReturn_t GetNvLinkCapability(nvmlDevice_t device, unsigned int link,
                                 nvmlNvLinkCapability_t capability, unsigned int* result) {
  if (result == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  nvmlReturn_t status;
  if (FindLink(device, link, &status) == nullptr) return status;
  switch (capability) {
    case NVML_NVLINK_CAP_P2P_SUPPORTED:
    case NVML_NVLINK_CAP_P2P_ATOMICS:
    case NVML_NVLINK_CAP_VALID:
      *result = 1;
      return NVML_SUCCESS;
    case NVML_NVLINK_CAP_SYSMEM_ACCESS:
    case NVML_NVLINK_CAP_SYSMEM_ATOMICS:
    case NVML_NVLINK_CAP_SLI_BRIDGE:
      *result = 0;
      return NVML_SUCCESS;
    default:
      return NVML_ERROR_INVALID_ARGUMENT;
  }
}

nvmlReturn_t GetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                       nvmlIntNvLinkDeviceType_t* type) {
  if (type == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  nvmlReturn_t status;
  const ring::DeviceProperties* properties = FindLink(device, link, &status);
  if (properties == nullptr) return status;
  *type =
      properties->nvlink_switch != 0 ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU;
  return NVML_SUCCESS;
}

nvmlReturn_t GetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t* pci) {
  if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  nvmlReturn_t status;
  const ring::DeviceProperties* properties = FindLink(device, link, &status);
  if (properties == nullptr) return status;
  if (properties->nvlink_switch == 0) {
    return device::GetPciInfo(HandleOf(PeerOf(IndexOf(device), link)), pci);
  }
  // Switches sit behind the GPUs on the bus: four of them, as in an eight-GPU board.
  *pci = {};
  const unsigned bus = 0xf0 + link % 4;
  std::snprintf(pci->busId, sizeof(pci->busId), "00000000:%02X:00.0", bus);
  std::snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "0000:%02X:00.0", bus);
  pci->bus = bus;
  pci->pciDeviceId = 0x10de;
  return NVML_SUCCESS;
}

nvmlReturn_t GetP2PStatus(nvmlDevice_t first, nvmlDevice_t second, nvmlGpuP2PCapsIndex_t index,
                          nvmlGpuP2PStatus_t* status) {
  if (status == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (const auto found = FindPair(first, second); found != NVML_SUCCESS) return found;
  const bool nvlink = PropertiesOf(IndexOf(first)).nvlink_count > 0 &&
                      PropertiesOf(IndexOf(second)).nvlink_count > 0;
  switch (index) {
    case NVML_P2P_CAPS_INDEX_READ:
    case NVML_P2P_CAPS_INDEX_WRITE:
    case NVML_P2P_CAPS_INDEX_ATOMICS:
    case NVML_P2P_CAPS_INDEX_NVLINK:
      *status = nvlink ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
      return NVML_SUCCESS;
    case NVML_P2P_CAPS_INDEX_PCI:
      *status = NVML_P2P_STATUS_OK;
      return NVML_SUCCESS;
    default:
      return NVML_ERROR_INVALID_ARGUMENT;
  }
}

nvmlReturn_t GetCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                               nvmlGpuTopologyLevel_t* level) {
  if (level == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (const auto found = FindPair(first, second); found != NVML_SUCCESS) return found;
  *level = first == second ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_NODE;
  return NVML_SUCCESS;
}

nvmlReturn_t GetNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int* count,
                            nvmlDevice_t* devices) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const int index = IndexOf(device);
  if (index < 0 || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const int found = level >= NVML_TOPOLOGY_NODE ? DeviceCount() - 1 : 0;
  if (*count != 0 && devices != nullptr) {
    unsigned written = 0;
    for (int i = 0; i < DeviceCount() && written < *count && found > 0; ++i) {
      if (i != index) devices[written++] = HandleOf(i);
    }
  }
  *count = static_cast<unsigned>(found);
  return NVML_SUCCESS;
}

nvmlReturn_t OnSameBoard(nvmlDevice_t first, nvmlDevice_t second, int* same) {
  if (same == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (const auto found = FindPair(first, second); found != NVML_SUCCESS) return found;
  *same = first == second ? 1 : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t GetFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t* info) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  if (IndexOf(device) < 0 || info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  // No NVLink domain reaches beyond a server.
  *info = {};
  info->state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
  return NVML_SUCCESS;
}

nvmlReturn_t GetFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  if (IndexOf(device) < 0 || info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned version = info->version;
  if (version != nvmlGpuFabricInfo_v2 && version != nvmlGpuFabricInfo_v3) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  std::memset(info, 0,
              version == nvmlGpuFabricInfo_v2 ? sizeof(nvmlGpuFabricInfo_v2_t) : sizeof(*info));
  info->version = version;
  info->state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
  return NVML_SUCCESS;
}

nvmlReturn_t GetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const int index = IndexOf(device);
  if (index < 0 || count < 1 || values == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (int i = 0; i < count; ++i) {
    if (!sensors::FillField(device, &values[i])) FillField(index, &values[i]);
  }
  return NVML_SUCCESS;
}

nvmlReturn_t GetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long* cpus) {
  if (const auto status = CheckMask(device, words, cpus); status != NVML_SUCCESS) return status;
  FillMask(words, cpus, sysconf(_SC_NPROCESSORS_CONF));
  return NVML_SUCCESS;
}

nvmlReturn_t GetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words, unsigned long* cpus,
                                       nvmlAffinityScope_t) {
  return GetCpuAffinity(device, words, cpus);
}

nvmlReturn_t GetMemoryAffinity(nvmlDevice_t device, unsigned int words, unsigned long* nodes,
                               nvmlAffinityScope_t) {
  if (const auto status = CheckMask(device, words, nodes); status != NVML_SUCCESS) return status;
  FillMask(words, nodes, 1);
  return NVML_SUCCESS;
}

nvmlReturn_t GetNumaNodeId(nvmlDevice_t device, unsigned int* node) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  if (IndexOf(device) < 0 || node == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *node = 0;
  return NVML_SUCCESS;
}

}  // namespace eidolon::shim::nvml::topology
