// Element types as kernels name them and as libraries number them, and their widths.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace eidolon::timing::kernel {

// Bytes of an element of a C++ type as it stands in a demangled name ("c10::BFloat16", "long",
// "at::native::OpaqueType<16u>"; const and pointers are ignored); nothing for unknown types.
std::optional<double> ElementBytes(std::string_view type);

// Bytes of an element of a cudaDataType_t (0.5 for 4-bit types); 4 for numbers we do not know.
double CudaTypeBytes(std::uint32_t cuda_type);

// The name under which GPU models list the peak rate of a cudaDataType_t: "bf16", "fp8", ...
std::string_view CudaTypeName(std::uint32_t cuda_type);

}  // namespace eidolon::timing::kernel
