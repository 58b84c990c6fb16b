// Start, versions, error texts.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::start {

CUresult Init(unsigned flags) noexcept;
CUresult GetVersion(int* version) noexcept;
CUresult GetErrorName(CUresult error, const char** text) noexcept;
CUresult GetErrorString(CUresult error, const char** text) noexcept;

}  // namespace eidolon::shim::cuda_driver::start
