#include "shim/vendor/cuda_driver/entry_point.h"

#include "shim/core/session.h"
#include "shim/vendor/cuda_driver/lookup.h"

namespace eidolon::shim::cuda_driver::entry_point {

CUresult Get(const char* symbol, void** function, int cuda_version, cuuint64_t flags,
             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kKnownFlags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || function == nullptr || (flags & ~kKnownFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *function = nullptr;
  const core::Session* session = core::Session::Get();
  if (session != nullptr && cuda_version > static_cast<int>(session->header().driver_version)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const FoundFunction found = FindDriverFunction(symbol, cuda_version, per_thread);
  *function = found.address;
  if (status == nullptr) return CUDA_SUCCESS;
  if (found.address != nullptr) {
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
  } else {
    *status = found.version_too_old ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                    : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

CUresult GetOrFail(const char* symbol, void** function, int cuda_version, cuuint64_t flags) {
  const CUresult result = Get(symbol, function, cuda_version, flags, nullptr);
  return result == CUDA_SUCCESS && *function == nullptr ? CUDA_ERROR_NOT_FOUND : result;
}

}  // namespace eidolon::shim::cuda_driver::entry_point
