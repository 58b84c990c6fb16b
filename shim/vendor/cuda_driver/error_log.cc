#include "shim/vendor/cuda_driver/error_log.h"

#include <atomic>

namespace eidolon::shim::cuda_driver::error_log {
namespace {

constinit std::atomic<std::size_t> last_handle = 0;

}  // namespace

CUresult RegisterCallback(CUlogsCallback callback, void*, CUlogsCallbackHandle* handle) {
  if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (handle != nullptr) *handle = reinterpret_cast<CUlogsCallbackHandle>(++last_handle);
  return CUDA_SUCCESS;
}

CUresult UnregisterCallback(CUlogsCallbackHandle handle) {
  const auto number = reinterpret_cast<std::size_t>(handle);
  return number == 0 || number > last_handle ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult GetCurrent(CUlogIterator* iterator, unsigned flags) {
  if (iterator == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *iterator = 0;
  return CUDA_SUCCESS;
}

CUresult DumpToMemory(CUlogIterator*, char* buffer, std::size_t* size, unsigned flags) {
  if (buffer == nullptr || size == nullptr || *size == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  buffer[0] = '\0';
  *size = 0;
  return CUDA_SUCCESS;
}

}  // namespace eidolon::shim::cuda_driver::error_log
