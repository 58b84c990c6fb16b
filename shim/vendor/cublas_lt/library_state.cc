#include "shim/vendor/cublas_lt/library_state.h"

#include <atomic>

#include "shim/vendor/cublas/handle.h"

namespace eidolon::shim::cublas_lt::library_state {
namespace {

std::atomic<std::size_t> heuristics_capacity{8192};  // The real library's default.

cublasHandle_t AsCublas(cublasLtHandle_t handle) {
  return reinterpret_cast<cublasHandle_t>(handle);
}

}  // namespace

cublasStatus_t Create(cublasLtHandle_t* handle) {
  return cublas::handle::Create(reinterpret_cast<cublasHandle_t*>(handle));
}
cublasStatus_t Destroy(cublasLtHandle_t handle) {
  return cublas::handle::Destroy(AsCublas(handle));
}
std::size_t GetVersion() { return CUBLAS_VERSION; }
std::size_t GetCudartVersion() { return cublas::handle::GetCudartVersion(); }
cublasStatus_t GetProperty(libraryPropertyType type, int* value) {
  return cublas::handle::GetProperty(type, value);
}

cublasStatus_t HeuristicsCacheGetCapacity(std::size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = heuristics_capacity.load(std::memory_order_relaxed);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t HeuristicsCacheSetCapacity(std::size_t capacity) {
  heuristics_capacity.store(capacity, std::memory_order_relaxed);
  return CUBLAS_STATUS_SUCCESS;
}
const char* GetStatusName(cublasStatus_t status) { return cublas::handle::GetStatusName(status); }
const char* GetStatusString(cublasStatus_t status) {
  return cublas::handle::GetStatusString(status);
}

}  // namespace eidolon::shim::cublas_lt::library_state
