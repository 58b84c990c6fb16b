// Tensor maps: descriptors of tensors in device memory that kernels take as a 128-byte parameter
// and hand to the tensor memory accelerator. Opaque to programs, so the layout is ours: it says the
// same as the vendor's, and keeps the address in a word of its own, where a launch blanks it like
// any other pointer. Equal tensors at different addresses are thus equal work.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::tensor_map {

// CUDA_ERROR_INVALID_VALUE for everything that the driver's documentation rules out.
CUresult EncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                     const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                     const cuuint32_t* steps, CUtensorMapInterleave interleave,
                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                     CUtensorMapFloatOOBfill fill);

// Another address for a map that EncodeTiled has made; its alignment rules go on to hold.
CUresult ReplaceAddress(CUtensorMap* map, void* address);

}  // namespace eidolon::shim::cuda_driver::tensor_map
