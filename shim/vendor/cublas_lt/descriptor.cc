// Descriptors are plain structures inside the vendor's opaque ones, whose storage may be the
// program's (Init) or ours (Create). An attribute is an offset and a size in such a structure, so
// setting and getting are one function over a table, and a wrong size is refused as in cuBLASLt. A
// new attribute needs a field and a row. Fields that change nothing about the work are kept all the
// same, because programs read them back.
#include "shim/vendor/cublas_lt/descriptor.h"

#include <cstddef>
#include <cstring>
#include <new>

#include "shim/vendor/cublas_lt/attribute.h"

namespace eidolon::shim::cublas_lt {
namespace {

#define FIELD(number, type, field) \
  { number, offsetof(type, field), sizeof(type::field) }

constexpr Attribute kLayoutAttributes[] = {
    FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, MatrixLayout, type),
    FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, MatrixLayout, order),
    FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, MatrixLayout, rows),
    FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, MatrixLayout, cols),
    FIELD(CUBLASLT_MATRIX_LAYOUT_LD, MatrixLayout, leading),
    FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, MatrixLayout, batch),
    FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, MatrixLayout, stride),
    FIELD(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, MatrixLayout, plane_offset),
    FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, MatrixLayout, batch_mode),
};

constexpr Attribute kMatmulAttributes[] = {
    FIELD(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, MatmulDesc, compute_type),
    FIELD(CUBLASLT_MATMUL_DESC_SCALE_TYPE, MatmulDesc, scale_type),
    FIELD(CUBLASLT_MATMUL_DESC_POINTER_MODE, MatmulDesc, pointer_mode),
    FIELD(CUBLASLT_MATMUL_DESC_TRANSA, MatmulDesc, transpose_a),
    FIELD(CUBLASLT_MATMUL_DESC_TRANSB, MatmulDesc, transpose_b),
    FIELD(CUBLASLT_MATMUL_DESC_TRANSC, MatmulDesc, transpose_c),
    FIELD(CUBLASLT_MATMUL_DESC_FILL_MODE, MatmulDesc, fill_mode),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE, MatmulDesc, epilogue),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_POINTER, MatmulDesc, bias),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, MatmulDesc, bias_stride),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, MatmulDesc, aux),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, MatmulDesc, aux_leading),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, MatmulDesc, aux_stride),
    FIELD(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, MatmulDesc, alpha_vector_stride),
    FIELD(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, MatmulDesc, sm_count_target),
    FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, MatmulDesc, scale_a),
    FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, MatmulDesc, scale_b),
    FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, MatmulDesc, scale_c),
    FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, MatmulDesc, scale_d),
    FIELD(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, MatmulDesc, amax_d),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, MatmulDesc, aux_type),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, MatmulDesc, aux_scale),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, MatmulDesc, aux_amax),
    FIELD(CUBLASLT_MATMUL_DESC_FAST_ACCUM, MatmulDesc, fast_accumulation),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, MatmulDesc, bias_type),
    FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, MatmulDesc, scale_mode_a),
    FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, MatmulDesc, scale_mode_b),
    FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, MatmulDesc, scale_mode_c),
    FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, MatmulDesc, scale_mode_d),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, MatmulDesc, aux_scale_mode),
    FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, MatmulDesc, scale_d_out),
    FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, MatmulDesc, scale_mode_d_out),
    FIELD(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, MatmulDesc, emulation),
    FIELD(CUBLASLT_MATMUL_DESC_ALPHA_BATCH_STRIDE, MatmulDesc, alpha_stride),
    FIELD(CUBLASLT_MATMUL_DESC_BETA_BATCH_STRIDE, MatmulDesc, beta_stride),
};

constexpr Attribute kPreferenceAttributes[] = {
    FIELD(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, search_mode),
    FIELD(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, workspace_max),
    FIELD(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reduction_mask),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, alignment_a),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, alignment_b),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, alignment_c),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, alignment_d),
    FIELD(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, Preference, waves_max),
    FIELD(CUBLASLT_MATMUL_PREF_IMPL_MASK, Preference, implementation_mask),
    FIELD(CUBLASLT_MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM, Preference, grouped_k),
    FIELD(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS, Preference, grouped_rows),
    FIELD(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS, Preference, grouped_cols),
};

constexpr Attribute kTransformAttributes[] = {
    FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, TransformDesc, scale_type),
    FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, TransformDesc, pointer_mode),
    FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, TransformDesc, transpose_a),
    FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, TransformDesc, transpose_b),
};

#undef FIELD

// Puts a descriptor into storage of `bytes` bytes.
template <typename Descriptor, typename Handle>
cublasStatus_t Place(Handle storage, std::size_t bytes, const Descriptor& descriptor) {
  if (storage == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes < sizeof(Descriptor)) return CUBLAS_STATUS_ALLOC_FAILED;
  std::memset(static_cast<void*>(storage), 0, bytes);
  new (static_cast<void*>(storage)) Descriptor(descriptor);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Descriptor, typename Handle>
cublasStatus_t Give(Handle* handle, const Descriptor& descriptor) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  using Storage = std::remove_pointer_t<Handle>;
  *handle = new Storage;
  return Place(*handle, sizeof(Storage), descriptor);
}

template <typename Descriptor, typename Handle>
cublasStatus_t Take(Handle handle) {
  Descriptor* descriptor = FindDescriptor<Descriptor>(handle);
  if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  descriptor->magic = 0;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

MatrixLayout LayoutOf(cudaDataType_t type, std::uint64_t rows, std::uint64_t cols,
                      std::int64_t leading) {
  MatrixLayout layout;
  layout.type = type;
  layout.rows = rows;
  layout.cols = cols;
  layout.leading = leading;
  return layout;
}

MatmulDesc MatmulDescOf(cublasComputeType_t compute_type, cudaDataType_t scale_type) {
  MatmulDesc desc;
  desc.compute_type = compute_type;
  desc.scale_type = scale_type;
  return desc;
}

TransformDesc TransformDescOf(cudaDataType_t scale_type) {
  TransformDesc desc;
  desc.scale_type = scale_type;
  return desc;
}

}  // namespace

namespace layout {

cublasStatus_t Init(cublasLtMatrixLayout_t layout, std::size_t bytes, cudaDataType_t type,
                    std::uint64_t rows, std::uint64_t cols, std::int64_t leading) {
  return Place(layout, bytes, LayoutOf(type, rows, cols, leading));
}
cublasStatus_t Create(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                      std::uint64_t cols, std::int64_t leading) {
  return Give(layout, LayoutOf(type, rows, cols, leading));
}
cublasStatus_t Destroy(cublasLtMatrixLayout_t layout) { return Take<MatrixLayout>(layout); }
cublasStatus_t Set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                   const void* value, std::size_t bytes) {
  return SetAttribute(kLayoutAttributes, FindDescriptor<MatrixLayout>(layout), attribute, value,
                      bytes);
}
cublasStatus_t Get(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                   void* value, std::size_t bytes, std::size_t* written) {
  return GetAttribute(kLayoutAttributes, FindDescriptor<MatrixLayout>(layout), attribute, value,
                      bytes, written);
}

}  // namespace layout

namespace matmul_desc {

cublasStatus_t Init(cublasLtMatmulDesc_t desc, std::size_t bytes, cublasComputeType_t compute_type,
                    cudaDataType_t scale_type) {
  return Place(desc, bytes, MatmulDescOf(compute_type, scale_type));
}
cublasStatus_t Create(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute_type,
                      cudaDataType_t scale_type) {
  return Give(desc, MatmulDescOf(compute_type, scale_type));
}
cublasStatus_t Destroy(cublasLtMatmulDesc_t desc) { return Take<MatmulDesc>(desc); }
cublasStatus_t Set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                   const void* value, std::size_t bytes) {
  return SetAttribute(kMatmulAttributes, FindDescriptor<MatmulDesc>(desc), attribute, value, bytes);
}
cublasStatus_t Get(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, void* value,
                   std::size_t bytes, std::size_t* written) {
  return GetAttribute(kMatmulAttributes, FindDescriptor<MatmulDesc>(desc), attribute, value, bytes,
                      written);
}

}  // namespace matmul_desc

namespace preference {

cublasStatus_t Init(cublasLtMatmulPreference_t preference, std::size_t bytes) {
  return Place(preference, bytes, Preference());
}
cublasStatus_t Create(cublasLtMatmulPreference_t* preference) {
  return Give(preference, Preference());
}
cublasStatus_t Destroy(cublasLtMatmulPreference_t preference) {
  return Take<Preference>(preference);
}
cublasStatus_t Set(cublasLtMatmulPreference_t preference,
                   cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                   std::size_t bytes) {
  return SetAttribute(kPreferenceAttributes, FindDescriptor<Preference>(preference), attribute,
                      value, bytes);
}
cublasStatus_t Get(cublasLtMatmulPreference_t preference,
                   cublasLtMatmulPreferenceAttributes_t attribute, void* value, std::size_t bytes,
                   std::size_t* written) {
  return GetAttribute(kPreferenceAttributes, FindDescriptor<Preference>(preference), attribute,
                      value, bytes, written);
}

}  // namespace preference

namespace transform_desc {

cublasStatus_t Init(cublasLtMatrixTransformDesc_t desc, std::size_t bytes,
                    cudaDataType_t scale_type) {
  return Place(desc, bytes, TransformDescOf(scale_type));
}
cublasStatus_t Create(cublasLtMatrixTransformDesc_t* desc, cudaDataType_t scale_type) {
  return Give(desc, TransformDescOf(scale_type));
}
cublasStatus_t Destroy(cublasLtMatrixTransformDesc_t desc) { return Take<TransformDesc>(desc); }
cublasStatus_t Set(cublasLtMatrixTransformDesc_t desc,
                   cublasLtMatrixTransformDescAttributes_t attribute, const void* value,
                   std::size_t bytes) {
  return SetAttribute(kTransformAttributes, FindDescriptor<TransformDesc>(desc), attribute, value,
                      bytes);
}
cublasStatus_t Get(cublasLtMatrixTransformDesc_t desc,
                   cublasLtMatrixTransformDescAttributes_t attribute, void* value,
                   std::size_t bytes, std::size_t* written) {
  return GetAttribute(kTransformAttributes, FindDescriptor<TransformDesc>(desc), attribute, value,
                      bytes, written);
}

}  // namespace transform_desc

}  // namespace eidolon::shim::cublas_lt
