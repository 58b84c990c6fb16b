// Named ranges (NVTX) that a program pushes and pops become range records, by which a job can name
// its iterations. Each library with NVTX inside attaches on its first use, when
// NVTX_INJECTION64_PATH names the core library. All threads; ranges before the first GPU call are
// not recorded.
#pragma once

#include "shim/vendor/cupti/supplement.h"

namespace eidolon::shim::cupti::nvtx {

// Puts our functions into the program's table. 1 when that worked, else 0: NVTX then stays silent.
int Attach(NvtxGetExportTableFunc_t get_export_table) noexcept;
// 0: nothing listens to extensions, so NVTX makes their calls do nothing.
int AttachExtension(void* module) noexcept;

}  // namespace eidolon::shim::cupti::nvtx
