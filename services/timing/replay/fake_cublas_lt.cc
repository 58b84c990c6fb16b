// A cuBLASLt for tests of replay: it keeps the rules that the real one documents for operands,
// epilogues and scaling, and goes wrong where it is told to. Its memory and time are the fake
// driver's.
//
//   EIDOLON_FAKE_LT="CALL:STATUS"   CALL (heuristic, matmul, desc) answers STATUS; "none" as status
//       of the heuristic: it succeeds without an algorithm
#include <cublasLt.h>
#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <string>

#define EIDOLON_FAKE extern "C" __attribute__((visibility("default"))) cublasStatus_t

namespace {

struct Layout {
  std::uint32_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct Desc {
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  CUdeviceptr bias = 0, aux = 0, scale_a = 0, scale_b = 0;
  std::int64_t aux_leading = 0, aux_stride = 0;
  std::int32_t bias_type = -1, mode_a = 0, mode_b = 0;
  std::int8_t fast = 0;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

std::string Script(const std::string& call) {
  const char* text = std::getenv("EIDOLON_FAKE_LT");
  const std::string script = text == nullptr ? "" : text;
  return script.starts_with(call + ":") ? script.substr(call.size() + 1) : "";
}
#define EIDOLON_ENTER(call)                                            \
  if (const int status = std::atoi(Script(call).c_str()); status != 0) \
  return static_cast<cublasStatus_t>(status)

std::uint64_t BitsOf(std::uint32_t type) {
  switch (type) {
    case CUDA_R_64F:
      return 64;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 32;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 16;
    case CUDA_R_4F_E2M1:
      return 4;
    default:
      return 8;
  }
}

// The first and the last of `bytes` are memory.
bool IsMemory(CUdeviceptr begin, std::uint64_t bytes) {
  return begin != 0 && bytes > 0 && begin % 16 == 0 &&
         cuMemsetD8Async(begin, 0, bytes, nullptr) == CUDA_SUCCESS;
}
bool IsMatrix(const void* pointer, const Layout& l) {
  const std::uint64_t elements = static_cast<std::uint64_t>(l.leading) * l.columns +
                                 static_cast<std::uint64_t>(l.stride * (l.batch - 1));
  return IsMemory(reinterpret_cast<CUdeviceptr>(pointer), elements * BitsOf(l.type) / 8);
}

Layout& Of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout*>(layout); }
Desc& Of(cublasLtMatmulDesc_t desc) { return *reinterpret_cast<Desc*>(desc); }

bool Fits(const Desc& desc, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  const bool ta = desc.transpose_a != CUBLAS_OP_N, tb = desc.transpose_b != CUBLAS_OP_N;
  if ((ta ? a.columns : a.rows) != d.rows || (tb ? b.rows : b.columns) != d.columns) return false;
  if ((ta ? a.rows : a.columns) != (tb ? b.columns : b.rows)) return false;
  for (const Layout* l : {&a, &b, &c, &d}) {
    if (l->leading < static_cast<std::int64_t>(l->rows) || l->batch != d.batch) return false;
    if (l->batch > 1 && l->stride < l->leading * static_cast<std::int64_t>(l->columns))
      return false;
  }
  const bool eight = a.type == CUDA_R_8F_E4M3 || a.type == CUDA_R_8F_E5M2;
  return !eight || (ta && !tb);  // Before Blackwell.
}

std::uint64_t ScaleBytes(std::int32_t mode, std::uint64_t rows, std::uint64_t k) {
  const auto blocks = [&](std::uint64_t width) {
    return (rows + 127) / 128 * 128 * (((k + width - 1) / width + 3) / 4 * 4);
  };
  switch (mode) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3:
      return blocks(16);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
      return blocks(32);
    case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
      return rows * 4;
    default:
      return 4;
  }
}

bool HasExtras(const Desc& desc, const Layout& a, const Layout& d) {
  const std::uint64_t k = desc.transpose_a != CUBLAS_OP_N ? a.rows : a.columns;
  const bool biased =
      (desc.epilogue & (4 | 16 | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) != 0;
  const std::uint64_t bias = desc.epilogue == CUBLASLT_EPILOGUE_BGRADB ? d.columns : d.rows;
  if (biased &&
      !IsMemory(desc.bias, bias * BitsOf(static_cast<std::uint32_t>(desc.bias_type)) / 8)) {
    return false;
  }
  if ((desc.epilogue & 128) != 0) {
    const bool mask = (desc.epilogue & (2 | 8)) != 0;
    if (desc.aux_leading % (mask ? 128 : 8) != 0) return false;
    if (desc.aux_leading < static_cast<std::int64_t>(d.rows)) return false;
    const std::uint64_t elements = static_cast<std::uint64_t>(desc.aux_leading) * d.columns +
                                   static_cast<std::uint64_t>(desc.aux_stride * (d.batch - 1));
    if (d.batch > 1 && desc.aux_stride == 0) return false;
    if (!IsMemory(desc.aux, elements * (mask ? 1 : BitsOf(d.type)) / 8)) return false;
  }
  if (desc.scale_a == 0 && desc.scale_b == 0) return true;
  return IsMemory(desc.scale_a, ScaleBytes(desc.mode_a, d.rows, k)) &&
         IsMemory(desc.scale_b, ScaleBytes(desc.mode_b, d.columns, k));
}

template <typename T>
cublasStatus_t Put(T& field, const void* value, std::size_t bytes) {
  if (bytes != sizeof(field)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

EIDOLON_FAKE cublasLtCreate(cublasLtHandle_t* handle) {
  EIDOLON_ENTER("create");
  *handle = reinterpret_cast<cublasLtHandle_t>(1);
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
extern "C" __attribute__((visibility("default"))) std::size_t cublasLtGetVersion() {
  return 130401;
}
EIDOLON_FAKE cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                        std::uint64_t rows, std::uint64_t columns,
                                        std::int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{static_cast<std::uint32_t>(type), rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &Of(layout);
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                              cublasLtMatrixLayoutAttribute_t attribute,
                                              const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return Put(Of(layout).batch, value, bytes);
  return Put(Of(layout).stride, value, bytes);
}
EIDOLON_FAKE cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t,
                                      cudaDataType_t) {
  EIDOLON_ENTER("desc");
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Desc);
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete &Of(desc);
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                            cublasLtMatmulDescAttributes_t attribute,
                                            const void* value, std::size_t bytes) {
  Desc& desc = Of(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return Put(desc.transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return Put(desc.transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return Put(desc.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return Put(desc.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return Put(desc.bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return Put(desc.aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return Put(desc.aux_leading, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return Put(desc.aux_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return Put(desc.scale_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return Put(desc.scale_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return Put(desc.mode_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return Put(desc.mode_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return Put(desc.fast, value, bytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}
EIDOLON_FAKE cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new std::uint64_t{0});
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<std::uint64_t*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                  cublasLtMatmulPreferenceAttributes_t attribute,
                                                  const void* value, std::size_t bytes) {
  if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return CUBLAS_STATUS_INVALID_VALUE;
  return Put(*reinterpret_cast<std::uint64_t*>(preference), value, bytes);
}
EIDOLON_FAKE cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                            cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                            cublasLtMatmulPreference_t preference, int,
                                            cublasLtMatmulHeuristicResult_t* results, int* count) {
  EIDOLON_ENTER("heuristic");
  *count = 0;
  if (Script("heuristic") == "none") return CUBLAS_STATUS_SUCCESS;
  if (!Fits(Of(desc), Of(a), Of(b), Of(c), Of(d))) return CUBLAS_STATUS_INVALID_VALUE;
  *count = 1;
  results[0] = {};
  results[0].workspaceSize = *reinterpret_cast<std::uint64_t*>(preference);
  results[0].algo.data[0] = 77;
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void*, const void* a,
                            cublasLtMatrixLayout_t layout_a, const void* b,
                            cublasLtMatrixLayout_t layout_b, const void*, const void* c,
                            cublasLtMatrixLayout_t layout_c, void* d,
                            cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algorithm,
                            void* workspace, std::size_t workspace_bytes, cudaStream_t) {
  EIDOLON_ENTER("matmul");
  const bool good = algorithm != nullptr && algorithm->data[0] == 77 && IsMatrix(a, Of(layout_a)) &&
                    IsMatrix(b, Of(layout_b)) && IsMatrix(c, Of(layout_c)) &&
                    IsMatrix(d, Of(layout_d)) &&
                    IsMemory(reinterpret_cast<CUdeviceptr>(workspace), workspace_bytes) &&
                    HasExtras(Of(desc), Of(layout_a), Of(layout_d));
  return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
