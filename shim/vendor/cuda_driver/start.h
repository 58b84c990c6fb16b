// Start, versions, error texts.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::start {

CUresult Init(unsigned flags) noexcept;
CUresult GetVersion(int* version) noexcept;
CUresult GetErrorName(CUresult error, const char** text) noexcept;
CUresult GetErrorString(CUresult error, const char** text) noexcept;
// Undocumented tables: there are none. Asking for one that NVRTC does without is not refused; those
// of statically linked runtimes are refused (see docs/limits.md).

}  // namespace eidolon::shim::cuda_driver::start
