// Element types as kernels name them and as libraries number them, and their widths.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/contract/torch_layout/type_name.h"

namespace eidolon::timing::kernel {

using torch_layout::ElementBytes;

// Bytes of an element of a cudaDataType_t (0.5 for 4-bit types); 4 for numbers we do not know.
double CudaTypeBytes(std::uint32_t cuda_type);

// The name under which GPU models list the peak rate of a cudaDataType_t: "bf16", "fp8", ...
std::string_view CudaTypeName(std::uint32_t cuda_type);

}  // namespace eidolon::timing::kernel
