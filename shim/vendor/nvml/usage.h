// NVML's questions about who uses a GPU: memory from the allocation book, processes.
#pragma once

#include "shim/vendor/nvml/library_state.h"

namespace eidolon::shim::nvml::usage {

nvmlReturn_t GetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);
nvmlReturn_t GetMemoryInfoV2(nvmlDevice_t device, nvmlMemory_v2_t* memory);
nvmlReturn_t GetBar1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory);
// This process is the only one known: each process keeps its own ledger.
nvmlReturn_t GetComputeProcesses(nvmlDevice_t device, unsigned int* count,
                                 nvmlProcessInfo_t* processes);
nvmlReturn_t GetComputeProcessesV1(nvmlDevice_t device, unsigned int* count,
                                   nvmlProcessInfo_v1_t* processes);
nvmlReturn_t GetComputeProcessesV2(nvmlDevice_t device, unsigned int* count,
                                   nvmlProcessInfo_v2_t* processes);
// Graphics and MPS processes: there are none.
nvmlReturn_t GetNoProcesses(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* processes);

}  // namespace eidolon::shim::nvml::usage
