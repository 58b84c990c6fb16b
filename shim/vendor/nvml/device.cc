// What NVML tells of a GPU comes from the properties in the session's header, the same from which
// CUDA answers, so the two never disagree. Current and maximal clocks are equal, because the model
// has one clock. Settings that an administrator makes (persistence, ECC, MIG, compute mode) have
// the usual values of a server. Counting the GPUs works in torchrun without a session, since a
// launcher needs nothing but their number.
#include "shim/vendor/nvml/device.h"

#include <cctype>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "shim/core/launcher.h"
#include "shim/gpu/device/device.h"

namespace eidolon::shim::nvml::device {
namespace {

// Writes an answer that needs the device's properties only.
template <typename T, typename Answer>
nvmlReturn_t Tell(nvmlDevice_t device, T* target, Answer&& answer) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const int index = IndexOf(device);
  if (index < 0 || target == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *target = static_cast<T>(answer(PropertiesOf(index)));
  return NVML_SUCCESS;
}

template <typename T>
nvmlReturn_t TellConstant(nvmlDevice_t device, T* target, T value) {
  return Tell(device, target, [value](const ring::DeviceProperties&) { return value; });
}

std::string UuidText(const ring::DeviceProperties& properties) {
  char text[41];
  gpu::FormatUuid(properties.uuid, text);
  return text;
}

std::string BusId(const ring::DeviceProperties& properties) {
  char text[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
  std::snprintf(text, sizeof(text), "00000000:%02X:00.0", properties.pci_bus);
  return text;
}

// The shape "GPU-..." is unique; so a serial number made of it is too.
std::string SerialText(const ring::DeviceProperties& properties) {
  std::uint64_t number = 0;
  std::memcpy(&number, properties.uuid, sizeof(number));
  return std::to_string(number % 10'000'000'000'000u);
}

template <typename Matches>
nvmlReturn_t FindDevice(nvmlDevice_t* device, Matches&& matches) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  if (device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (int i = 0; i < DeviceCount(); ++i) {
    if (!matches(PropertiesOf(i))) continue;
    *device = HandleOf(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

// A bus number from "0000:1b:00.0", "00000000:1B:00.0" or "1b:00.0"; -1 when the text is none.
int ParseBus(const char* text) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4 ||
      std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3) {
    return domain == 0 ? static_cast<int>(bus) : -1;
  }
  if (std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) == 3) return static_cast<int>(bus);
  return -1;
}

unsigned Megahertz(const ring::DeviceProperties& properties, nvmlClockType_t type) {
  const bool memory = type == NVML_CLOCK_MEM;
  return (memory ? properties.memory_clock_khz : properties.sm_clock_khz) / 1000;
}

// Answers for a part that no emulated GPU has.
nvmlReturn_t TellAbsent(nvmlDevice_t device, const void* target) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const bool is_valid = IndexOf(device) >= 0 && target != nullptr;
  return is_valid ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

unsigned CoresPerMultiprocessor(const ring::DeviceProperties& properties) {
  // 64 in compute capabilities 6.0, 7.x and 8.0; 128 in the others from 5.0 on.
  const std::uint32_t major = properties.compute_major;
  const bool is_small = major == 7 || ((major == 6 || major == 8) && properties.compute_minor == 0);
  return is_small ? 64 : 128;
}

}  // namespace

nvmlReturn_t GetCount(unsigned int* count) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const std::optional<int> known = core::DeviceCountOfTorchrun();
  *count = static_cast<unsigned>(known.has_value() ? *known : DeviceCount());
  return NVML_SUCCESS;
}

nvmlReturn_t GetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  if (device == nullptr || index >= static_cast<unsigned>(DeviceCount())) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *device = HandleOf(static_cast<int>(index));
  return NVML_SUCCESS;
}

nvmlReturn_t GetHandleByUuid(const char* uuid, nvmlDevice_t* device) {
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return FindDevice(device, [uuid](const auto& p) { return UuidText(p) == uuid; });
}

nvmlReturn_t GetHandleByUuidV(const nvmlUUID_t* uuid, nvmlDevice_t* device) {
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (uuid->type == NVML_UUID_TYPE_ASCII) return GetHandleByUuid(uuid->value.str, device);
  return FindDevice(device, [uuid](const auto& p) {
    return std::memcmp(p.uuid, uuid->value.bytes, sizeof(p.uuid)) == 0;
  });
}

nvmlReturn_t GetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
  if (bus_id == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const int bus = ParseBus(bus_id);
  if (bus < 0) return NVML_ERROR_INVALID_ARGUMENT;
  return FindDevice(device, [bus](const auto& p) { return static_cast<int>(p.pci_bus) == bus; });
}

nvmlReturn_t GetHandleBySerial(const char* serial, nvmlDevice_t* device) {
  if (serial == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return FindDevice(device, [serial](const auto& p) { return SerialText(p) == serial; });
}

nvmlReturn_t GetIndex(nvmlDevice_t device, unsigned int* index) {
  return TellConstant(device, index, static_cast<unsigned>(IndexOf(device)));
}
nvmlReturn_t GetMinorNumber(nvmlDevice_t device, unsigned int* minor) {
  return GetIndex(device, minor);
}
nvmlReturn_t GetModuleId(nvmlDevice_t device, unsigned int* module) {
  return GetIndex(device, module);
}

nvmlReturn_t GetName(nvmlDevice_t device, char* name, unsigned int length) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const int index = IndexOf(device);
  if (index < 0) return NVML_ERROR_INVALID_ARGUMENT;
  return CopyText(PropertiesOf(index).name, name, length);
}

nvmlReturn_t GetUuid(nvmlDevice_t device, char* uuid, unsigned int length) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const int index = IndexOf(device);
  if (index < 0) return NVML_ERROR_INVALID_ARGUMENT;
  return CopyText(UuidText(PropertiesOf(index)).c_str(), uuid, length);
}

nvmlReturn_t GetSerial(nvmlDevice_t device, char* serial, unsigned int length) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const int index = IndexOf(device);
  if (index < 0) return NVML_ERROR_INVALID_ARGUMENT;
  return CopyText(SerialText(PropertiesOf(index)).c_str(), serial, length);
}

nvmlReturn_t GetBrand(nvmlDevice_t device, nvmlBrandType_t* brand) {
  return TellConstant(device, brand, NVML_BRAND_NVIDIA);
}

nvmlReturn_t GetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t* architecture) {
  return Tell(device, architecture, [](const auto& p) -> nvmlDeviceArchitecture_t {
    switch (p.compute_major) {
      case 7:
        return p.compute_minor < 5 ? NVML_DEVICE_ARCH_VOLTA : NVML_DEVICE_ARCH_TURING;
      case 8:
        return p.compute_minor == 9 ? NVML_DEVICE_ARCH_ADA : NVML_DEVICE_ARCH_AMPERE;
      case 9:
        return NVML_DEVICE_ARCH_HOPPER;
      case 10:
      case 12:
        return NVML_DEVICE_ARCH_BLACKWELL;
      default:
        return NVML_DEVICE_ARCH_UNKNOWN;
    }
  });
}

nvmlReturn_t GetComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  if (minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const auto status = Tell(device, major, [](const auto& p) { return p.compute_major; });
  if (status != NVML_SUCCESS) return status;
  return Tell(device, minor, [](const auto& p) { return p.compute_minor; });
}

nvmlReturn_t GetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  const int index = IndexOf(device);
  if (index < 0 || pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const ring::DeviceProperties& properties = PropertiesOf(index);
  *pci = {};
  const std::string bus_id = BusId(properties);
  std::memcpy(pci->busId, bus_id.c_str(), bus_id.size() + 1);
  // The older form has four digits of domain.
  std::memcpy(pci->busIdLegacy, bus_id.c_str() + 4, bus_id.size() - 3);
  pci->bus = properties.pci_bus;
  pci->pciDeviceId = 0x10de;  // The vendor, NVIDIA, in the low half; the model number is not known.
  pci->pciSubSystemId = 0x10de;
  return NVML_SUCCESS;
}

nvmlReturn_t GetNumGpuCores(nvmlDevice_t device, unsigned int* cores) {
  return Tell(device, cores,
              [](const auto& p) { return p.multiprocessors * CoresPerMultiprocessor(p); });
}
nvmlReturn_t GetMemoryBusWidth(nvmlDevice_t device, unsigned int* bits) {
  return Tell(device, bits, [](const auto& p) { return p.memory_bus_bits; });
}

nvmlReturn_t GetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int* megahertz) {
  return Tell(device, megahertz, [type](const auto& p) { return Megahertz(p, type); });
}

nvmlReturn_t GetPowerManagementLimit(nvmlDevice_t device, unsigned int* milliwatts) {
  return Tell(device, milliwatts, [](const auto& p) { return p.power_limit_milliwatts; });
}
nvmlReturn_t GetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return TellConstant(device, mode, NVML_FEATURE_ENABLED);
}
nvmlReturn_t GetPerformanceState(nvmlDevice_t device, nvmlPstates_t* state) {
  return TellConstant(device, state, NVML_PSTATE_0);
}
nvmlReturn_t GetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return TellConstant(device, mode, NVML_FEATURE_ENABLED);
}
nvmlReturn_t GetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  return TellConstant(device, mode, NVML_COMPUTEMODE_DEFAULT);
}
nvmlReturn_t GetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                        nvmlEnableState_t* pending) {
  if (pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *pending = NVML_FEATURE_ENABLED;
  return TellConstant(device, current, NVML_FEATURE_ENABLED);
}
nvmlReturn_t GetMigMode(nvmlDevice_t device, unsigned int* current, unsigned int* pending) {
  if (pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *pending = NVML_DEVICE_MIG_DISABLE;
  return TellConstant(device, current, static_cast<unsigned>(NVML_DEVICE_MIG_DISABLE));
}
nvmlReturn_t IsMigDevice(nvmlDevice_t device, unsigned int* is_mig) {
  return TellConstant(device, is_mig, 0u);
}
nvmlReturn_t GetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count) {
  return TellConstant(device, count, 0u);
}
nvmlReturn_t GetDisplayMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return TellConstant(device, mode, NVML_FEATURE_DISABLED);
}
nvmlReturn_t GetVirtualizationMode(nvmlDevice_t device, nvmlGpuVirtualizationMode_t* mode) {
  return TellConstant(device, mode, NVML_GPU_VIRTUALIZATION_MODE_NONE);
}
nvmlReturn_t GetPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation) {
  return Tell(device, generation, [](const auto& p) { return p.compute_major >= 9 ? 5u : 4u; });
}
nvmlReturn_t GetPcieLinkWidth(nvmlDevice_t device, unsigned int* width) {
  return TellConstant(device, width, 16u);
}

nvmlReturn_t GetFanSpeed(nvmlDevice_t device, unsigned int* percent) {
  return TellAbsent(device, percent);
}
nvmlReturn_t GetSpeedOfFan(nvmlDevice_t device, unsigned int, unsigned int* percent) {
  return TellAbsent(device, percent);
}
nvmlReturn_t GetNumFans(nvmlDevice_t device, unsigned int* count) {
  return TellConstant(device, count, 0u);
}
nvmlReturn_t GetC2cModeInfo(nvmlDevice_t device, nvmlC2cModeInfo_v1_t* info) {
  return TellAbsent(device, info);
}
nvmlReturn_t GetGpmSupport(nvmlDevice_t device, nvmlGpmSupport_t* support) {
  if (support == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return TellConstant(device, &support->isSupportedDevice, 0u);
}

nvmlReturn_t GetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                   nvmlMemoryLocation_t, unsigned long long* count) {
  return TellConstant(device, count, 0ull);
}
nvmlReturn_t GetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                               unsigned long long* count) {
  return TellConstant(device, count, 0ull);
}

}  // namespace eidolon::shim::nvml::device
