// Functions of libcupti that its headers leave out: the door by which NVTX, compiled into a
// program, finds its listener. Read by apigen as C.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#ifdef __cplusplus
extern "C" {
#endif

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table);
// The same for NVTX's extensions (payloads, counters, memory), which pass their
// nvtxExtModuleInfo_t.
int InitializeInjectionNvtxExtension(void* module);

#ifdef __cplusplus
}
#endif
