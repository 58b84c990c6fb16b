// NVML's start and stop, versions, and the devices behind its handles.
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "services/contract/ring/layout.h"

namespace eidolon::shim::nvml {

// SUCCESS between nvmlInit and nvmlShutdown.
nvmlReturn_t CheckInitialised();

// Index of the emulated GPU behind a handle, or -1.
int IndexOf(nvmlDevice_t device);
nvmlDevice_t HandleOf(int index);
int DeviceCount();
// Requires: 0 <= index < DeviceCount().
const ring::DeviceProperties& PropertiesOf(int index);

// Copies a string as NVML does: INSUFFICIENT_SIZE when it does not fit with its zero.
nvmlReturn_t CopyText(const char* text, char* target, unsigned int length);

namespace library_state {

nvmlReturn_t Init();
nvmlReturn_t InitWithFlags(unsigned int flags);
nvmlReturn_t Shutdown();
const char* ErrorString(nvmlReturn_t result);
nvmlReturn_t GetDriverVersion(char* version, unsigned int length);
nvmlReturn_t GetNvmlVersion(char* version, unsigned int length);
nvmlReturn_t GetCudaDriverVersion(int* version);
nvmlReturn_t GetProcessName(unsigned int pid, char* name, unsigned int length);

}  // namespace library_state
}  // namespace eidolon::shim::nvml
