// A cuBLAS for tests of replay: a GEMM succeeds where the handle has a stream and the workspace of
// the size that the test expects; it lasts as long as the fake driver writes that workspace.
//
//   EIDOLON_FAKE_WORKSPACE="BYTES"   the expected size
#include <cublas_v2.h>
#include <cuda.h>

#include <cstdlib>

#define EIDOLON_FAKE extern "C" __attribute__((visibility("default"))) cublasStatus_t

namespace {

struct Handle {
  cudaStream_t stream = nullptr;
  CUdeviceptr workspace = 0;
  std::size_t workspace_bytes = 0;
};

Handle& Of(cublasHandle_t handle) { return *reinterpret_cast<Handle*>(handle); }

}  // namespace

EIDOLON_FAKE cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new Handle);
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasDestroy_v2(cublasHandle_t handle) {
  delete &Of(handle);
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = 130401;
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  Of(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  Of(handle).workspace = reinterpret_cast<CUdeviceptr>(workspace);
  Of(handle).workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
EIDOLON_FAKE cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                                        int, int, int, const void*, const void*, cudaDataType, int,
                                        long long, const void*, cudaDataType, int, long long,
                                        const void*, void*, cudaDataType, int, long long, int,
                                        cublasComputeType_t, cublasGemmAlgo_t) {
  const char* expected = std::getenv("EIDOLON_FAKE_WORKSPACE");
  const Handle& given = Of(handle);
  const bool good =
      given.stream != nullptr && expected != nullptr &&
      given.workspace_bytes == std::strtoull(expected, nullptr, 10) &&
      cuMemsetD8Async(given.workspace, 0, given.workspace_bytes, nullptr) == CUDA_SUCCESS;
  return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
