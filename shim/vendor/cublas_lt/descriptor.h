// cuBLASLt's descriptors. They live inside the vendor's opaque structs, because programs may
// provide the storage themselves; each starts with a magic number.
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace eidolon::shim::cublas_lt {

struct MatrixLayout {
  static constexpr std::uint64_t kMagic = 0x4c744c61796f7574u;
  std::uint64_t magic = kMagic;
  std::uint32_t type = 0;  // cudaDataType_t.
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::uint32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
  std::int64_t stride = 0;
  std::int64_t plane_offset = 0;
};

struct MatmulDesc {
  static constexpr std::uint64_t kMagic = 0x4c744d61746d756cu;
  std::uint64_t magic = kMagic;
  std::int32_t compute_type = CUBLAS_COMPUTE_32F;
  std::int32_t scale_type = CUDA_R_32F;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transpose_a = CUBLAS_OP_N;
  std::int32_t transpose_b = CUBLAS_OP_N;
  std::int32_t transpose_c = CUBLAS_OP_N;
  std::int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int64_t bias_stride = 0;
  void* aux = nullptr;
  std::int64_t aux_leading = 0;
  std::int64_t aux_stride = 0;
  std::int64_t alpha_vector_stride = 0;
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  const void* scale_c = nullptr;
  const void* scale_d = nullptr;
  void* amax_d = nullptr;
  const void* aux_scale = nullptr;
  void* aux_amax = nullptr;
  void* scale_d_out = nullptr;
  void* emulation = nullptr;
  std::int64_t alpha_stride = 0;
  std::int64_t beta_stride = 0;
  std::int32_t aux_type = -1;
  std::int32_t bias_type = -1;
  std::int32_t sm_count_target = 0;
  std::int32_t scale_mode_a = 0, scale_mode_b = 0, scale_mode_c = 0, scale_mode_d = 0;
  std::int32_t aux_scale_mode = 0, scale_mode_d_out = 0;
  std::int8_t fast_accumulation = 0;
};

struct Preference {
  static constexpr std::uint64_t kMagic = 0x4c74507265666572u;
  std::uint64_t magic = kMagic;
  std::uint64_t workspace_max = 0;
  std::uint64_t implementation_mask = ~std::uint64_t{0};
  std::uint32_t search_mode = CUBLASLT_SEARCH_BEST_FIT;
  std::uint32_t reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
  float waves_max = 0;
  std::uint32_t grouped_k = 0, grouped_rows = 0, grouped_cols = 0;
};

struct TransformDesc {
  static constexpr std::uint64_t kMagic = 0x4c745472616e7366u;
  std::uint64_t magic = kMagic;
  std::int32_t scale_type = CUDA_R_32F;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transpose_a = CUBLAS_OP_N;
  std::int32_t transpose_b = CUBLAS_OP_N;
};

// The descriptor behind a program's pointer, or nullptr.
template <typename Descriptor, typename Handle>
Descriptor* FindDescriptor(Handle handle) {
  static_assert(sizeof(Descriptor) <= sizeof(*handle));
  auto* descriptor = reinterpret_cast<Descriptor*>(handle);
  return descriptor != nullptr && descriptor->magic == Descriptor::kMagic ? descriptor : nullptr;
}

namespace layout {
cublasStatus_t Init(cublasLtMatrixLayout_t layout, std::size_t bytes, cudaDataType_t type,
                    std::uint64_t rows, std::uint64_t cols, std::int64_t leading);
cublasStatus_t Create(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                      std::uint64_t cols, std::int64_t leading);
cublasStatus_t Destroy(cublasLtMatrixLayout_t layout);
cublasStatus_t Set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                   const void* value, std::size_t bytes);
cublasStatus_t Get(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                   void* value, std::size_t bytes, std::size_t* written);
}  // namespace layout

namespace matmul_desc {
cublasStatus_t Init(cublasLtMatmulDesc_t desc, std::size_t bytes, cublasComputeType_t compute_type,
                    cudaDataType_t scale_type);
cublasStatus_t Create(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute_type,
                      cudaDataType_t scale_type);
cublasStatus_t Destroy(cublasLtMatmulDesc_t desc);
cublasStatus_t Set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                   const void* value, std::size_t bytes);
cublasStatus_t Get(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, void* value,
                   std::size_t bytes, std::size_t* written);
}  // namespace matmul_desc

namespace preference {
cublasStatus_t Init(cublasLtMatmulPreference_t preference, std::size_t bytes);
cublasStatus_t Create(cublasLtMatmulPreference_t* preference);
cublasStatus_t Destroy(cublasLtMatmulPreference_t preference);
cublasStatus_t Set(cublasLtMatmulPreference_t preference,
                   cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                   std::size_t bytes);
cublasStatus_t Get(cublasLtMatmulPreference_t preference,
                   cublasLtMatmulPreferenceAttributes_t attribute, void* value, std::size_t bytes,
                   std::size_t* written);
}  // namespace preference

namespace transform_desc {
cublasStatus_t Init(cublasLtMatrixTransformDesc_t desc, std::size_t bytes,
                    cudaDataType_t scale_type);
cublasStatus_t Create(cublasLtMatrixTransformDesc_t* desc, cudaDataType_t scale_type);
cublasStatus_t Destroy(cublasLtMatrixTransformDesc_t desc);
cublasStatus_t Set(cublasLtMatrixTransformDesc_t desc,
                   cublasLtMatrixTransformDescAttributes_t attribute, const void* value,
                   std::size_t bytes);
cublasStatus_t Get(cublasLtMatrixTransformDesc_t desc,
                   cublasLtMatrixTransformDescAttributes_t attribute, void* value,
                   std::size_t bytes, std::size_t* written);
}  // namespace transform_desc

}  // namespace eidolon::shim::cublas_lt
