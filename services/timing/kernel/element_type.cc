#include "services/timing/kernel/element_type.h"

#include <iterator>

namespace eidolon::timing::kernel {

double CudaTypeBytes(std::uint32_t cuda_type) {
  // Bytes in the order of cudaDataType_t's numbers, library_types.h of the CUDA toolkit.
  constexpr double kBytes[] = {4, 8,   2, 1, 8, 16, 4, 2, 1,  2, 4,  8, 4, 8, 2,    4,    0.5,
                               1, 0.5, 1, 2, 4, 2,  4, 8, 16, 8, 16, 1, 1, 1, 0.75, 0.75, 0.5};
  return cuda_type < std::size(kBytes) ? kBytes[cuda_type] : 4;
}

std::string_view CudaTypeName(std::uint32_t cuda_type) {
  switch (cuda_type) {
    case 1:
    case 5:
      return "fp64";
    case 2:
    case 6:
      return "fp16";
    case 14:
    case 15:
      return "bf16";
    case 28:
    case 29:
      return "fp8";
    case 33:
      return "fp4";
    case 3:
    case 8:
      return "int8";
    default:
      return "fp32";
  }
}

}  // namespace eidolon::timing::kernel
