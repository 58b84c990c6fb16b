// nvmlInit counts its users, and questions outside of Init and Shutdown are refused. The session is
// one for queries: asking NVML must not make a process a user of GPUs. Users in torchrun are
// counted by themselves: a rank may go on from a fork of torchrun instead of being executed, and it
// must begin uninitialised all the same. Handles are addresses inside one array: a check of the
// range tells a handle from anything else, and nothing has to be freed.
#include "shim/vendor/nvml/library_state.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "shim/core/launcher.h"
#include "shim/core/session.h"

namespace eidolon::shim::nvml {
namespace {

std::atomic<int> users{0};
// Those in torchrun, which its ranks do not inherit (shim/program/process/next_program.h).
std::atomic<int> users_in_launcher{0};

// A handle is the address of its element; the contents are never looked at.
char handles[ring::kMaxDevices];

const core::Session* GetSession() { return core::Session::GetForQueries(); }

std::string_view DriverName() {
  const core::Session* session = GetSession();
  return session == nullptr ? "" : session->header().driver_name;
}

struct Wording {
  nvmlReturn_t code;
  const char* text;
};
constexpr Wording kWordings[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {NVML_ERROR_ALREADY_INITIALIZED, "Already Initialized"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_TIMEOUT, "Timeout"},
    {NVML_ERROR_IRQ_ISSUE, "Interrupt Request Issue"},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {NVML_ERROR_CORRUPTED_INFOROM, "Corrupted infoROM"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_RESET_REQUIRED, "GPU requires reset"},
    {NVML_ERROR_OPERATING_SYSTEM, "Blocked by operating system"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
    {NVML_ERROR_IN_USE, "In use by another client"},
    {NVML_ERROR_MEMORY, "Insufficient Memory"},
    {NVML_ERROR_NO_DATA, "No data"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
    {NVML_ERROR_DEPRECATED, "Deprecated"},
    {NVML_ERROR_UNKNOWN, "Unknown Error"},
};

}  // namespace

nvmlReturn_t CheckInitialised() {
  const bool used = users.load(std::memory_order_acquire) > 0 ||
                    (users_in_launcher.load(std::memory_order_acquire) > 0 && core::IsTorchrun());
  return used ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

int DeviceCount() {
  const core::Session* session = GetSession();
  return session == nullptr ? 0 : session->device_count();
}

int IndexOf(nvmlDevice_t device) {
  const char* element = reinterpret_cast<const char*>(device);
  if (element < handles || element >= handles + DeviceCount()) return -1;
  return static_cast<int>(element - handles);
}

nvmlDevice_t HandleOf(int index) { return reinterpret_cast<nvmlDevice_t>(&handles[index]); }

const ring::DeviceProperties& PropertiesOf(int index) { return GetSession()->device(index); }

nvmlReturn_t CopyText(const char* text, char* target, unsigned int length) {
  if (target == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const std::size_t bytes = std::strlen(text) + 1;
  if (bytes > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(target, text, bytes);
  return NVML_SUCCESS;
}

namespace library_state {

nvmlReturn_t Init() { return InitWithFlags(0); }

nvmlReturn_t InitWithFlags(unsigned int) {
  if (core::DeviceCountOfTorchrun().has_value()) {
    users_in_launcher.fetch_add(1, std::memory_order_acq_rel);
    return NVML_SUCCESS;
  }
  if (GetSession() == nullptr) return NVML_ERROR_DRIVER_NOT_LOADED;
  users.fetch_add(1, std::memory_order_acq_rel);
  return NVML_SUCCESS;
}

nvmlReturn_t Shutdown() {
  for (std::atomic<int>* count : {&users, &users_in_launcher}) {
    int before = count->load(std::memory_order_acquire);
    while (before > 0) {
      if (count->compare_exchange_weak(before, before - 1, std::memory_order_acq_rel)) {
        return NVML_SUCCESS;
      }
    }
  }
  return NVML_ERROR_UNINITIALIZED;
}

const char* ErrorString(nvmlReturn_t result) {
  for (const Wording& wording : kWordings) {
    if (wording.code == result) return wording.text;
  }
  return "Unknown Error";
}

nvmlReturn_t GetDriverVersion(char* version, unsigned int length) {
  if (CheckInitialised() != NVML_SUCCESS) return NVML_ERROR_UNINITIALIZED;
  return CopyText(std::string(DriverName()).c_str(), version, length);
}

nvmlReturn_t GetNvmlVersion(char* version, unsigned int length) {
  if (CheckInitialised() != NVML_SUCCESS) return NVML_ERROR_UNINITIALIZED;
  // The library's own version: its interface number before the driver's.
  const std::string text = std::to_string(NVML_API_VERSION) + "." + std::string(DriverName());
  return CopyText(text.c_str(), version, length);
}

nvmlReturn_t GetCudaDriverVersion(int* version) {
  // Answered before nvmlInit too, as by the real library.
  const core::Session* session = GetSession();
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (session == nullptr) return NVML_ERROR_LIBRARY_NOT_FOUND;
  *version = static_cast<int>(session->header().driver_version);
  return NVML_SUCCESS;
}

nvmlReturn_t GetProcessName(unsigned int pid, char* name, unsigned int length) {
  if (CheckInitialised() != NVML_SUCCESS) return NVML_ERROR_UNINITIALIZED;
  if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
  const std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return NVML_ERROR_NOT_FOUND;
  const std::size_t bytes = std::fread(name, 1, length - 1, file);
  std::fclose(file);
  name[bytes] = '\0';
  return NVML_SUCCESS;
}

}  // namespace library_state
}  // namespace eidolon::shim::nvml
