// Memory is that of this process's ledger: other processes on the same GPU have ledgers of their
// own and are not seen. NVML numbers the GPUs of the server and CUDA the visible ones, so an index
// is translated through the ring's device number. A GPU that the process cannot use is empty to it,
// and asking about it must not start the use of GPUs. The total is that of CUDA, without a reserved
// part, because programs compute from it what they can have.
#include "shim/vendor/nvml/usage.h"

#include <unistd.h>

#include <cstring>

#include "shim/core/session.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/memory.h"

namespace eidolon::shim::nvml::usage {
namespace {

// NVML sees all GPUs of the server, CUDA those that CUDA_VISIBLE_DEVICES shows: -1 when this
// process cannot use the GPU, and so uses nothing of it.
int VisibleDevice(int index) {
  if (!core::Session::UsesGpus()) return -1;
  for (int device = 0; device < gpu::DeviceCount(); ++device) {
    if (gpu::RingDevice(device) == index) return device;
  }
  return -1;
}

gpu::MemoryInfo MemoryOf(int index) {
  const int device = VisibleDevice(index);
  if (device >= 0) return gpu::GetMemoryInfo(device);
  const std::uint64_t total = PropertiesOf(index).memory_bytes;
  return {.free = total, .total = total};
}

nvmlReturn_t Check(nvmlDevice_t device, const void* answer) {
  if (const auto status = CheckInitialised(); status != NVML_SUCCESS) return status;
  return IndexOf(device) < 0 || answer == nullptr ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

// Fields that every version of the structure has; later fields keep their zero or "not available".
template <typename Info>
nvmlReturn_t GetProcesses(nvmlDevice_t device, unsigned int* count, Info* processes) {
  if (const auto status = Check(device, count); status != NVML_SUCCESS) return status;
  const gpu::MemoryInfo memory = MemoryOf(IndexOf(device));
  const std::uint64_t used = memory.total - memory.free;
  if (used == 0) {
    *count = 0;
    return NVML_SUCCESS;
  }
  if (*count < 1 || processes == nullptr) {
    *count = 1;
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  std::memset(processes, 0, sizeof(Info));
  processes->pid = static_cast<unsigned>(getpid());
  processes->usedGpuMemory = used;
  if constexpr (requires { processes->gpuInstanceId; }) {
    processes->gpuInstanceId = 0xffffffffu;  // Not available without MIG.
    processes->computeInstanceId = 0xffffffffu;
  }
  *count = 1;
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t GetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  if (const auto status = Check(device, memory); status != NVML_SUCCESS) return status;
  const gpu::MemoryInfo info = MemoryOf(IndexOf(device));
  memory->total = info.total;
  memory->free = info.free;
  memory->used = info.total - info.free;
  return NVML_SUCCESS;
}

nvmlReturn_t GetMemoryInfoV2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (const auto status = Check(device, memory); status != NVML_SUCCESS) return status;
  if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  const gpu::MemoryInfo info = MemoryOf(IndexOf(device));
  memory->total = info.total;
  memory->reserved = 0;  // The total is what programs can have.
  memory->free = info.free;
  memory->used = info.total - info.free;
  return NVML_SUCCESS;
}

nvmlReturn_t GetBar1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory) {
  if (const auto status = Check(device, memory); status != NVML_SUCCESS) return status;
  // Data-centre GPUs map all of their memory: the window is the next power of two.
  std::uint64_t total = std::uint64_t{1} << 30;
  while (total < PropertiesOf(IndexOf(device)).memory_bytes) total *= 2;
  memory->bar1Total = total;
  memory->bar1Free = total;
  memory->bar1Used = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t GetComputeProcesses(nvmlDevice_t device, unsigned int* count,
                                 nvmlProcessInfo_t* processes) {
  return GetProcesses(device, count, processes);
}
nvmlReturn_t GetComputeProcessesV1(nvmlDevice_t device, unsigned int* count,
                                   nvmlProcessInfo_v1_t* processes) {
  return GetProcesses(device, count, processes);
}
nvmlReturn_t GetComputeProcessesV2(nvmlDevice_t device, unsigned int* count,
                                   nvmlProcessInfo_v2_t* processes) {
  return GetProcesses(device, count, processes);
}

nvmlReturn_t GetNoProcesses(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t*) {
  if (const auto status = Check(device, count); status != NVML_SUCCESS) return status;
  *count = 0;
  return NVML_SUCCESS;
}

}  // namespace eidolon::shim::nvml::usage
