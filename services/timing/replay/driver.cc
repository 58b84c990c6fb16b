#include "services/timing/replay/driver.h"

#include <dlfcn.h>

#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::StrCat;

base::Result<std::unique_ptr<Driver>> Driver::Open(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return base::Fail(ErrorCode::kNotFound,
                      StrCat("no CUDA driver: ", reason == nullptr ? library.c_str() : reason));
  }
  std::unique_ptr<Driver> driver(new Driver);
#define EIDOLON_FIND_CALL(name, declaration)                                                  \
  driver->name = reinterpret_cast<decltype(driver->name)>(dlsym(handle, #name));              \
  if (driver->name == nullptr) {                                                              \
    return base::Fail(ErrorCode::kUnsupported,                                                \
                      StrCat("the CUDA driver '", library, "' has no function '" #name "'")); \
  }
  EIDOLON_DRIVER_CALLS(EIDOLON_FIND_CALL)
#undef EIDOLON_FIND_CALL
  return driver;
}

std::string Driver::NameOf(CUresult result) const {
  const char* name = nullptr;
  if (cuGetErrorName(result, &name) == CUDA_SUCCESS && name != nullptr) return name;
  return StrCat("CUDA error ", static_cast<int>(result));
}

base::Result<void> Driver::Check(CUresult result, const char* doing) const {
  if (result == CUDA_SUCCESS) return {};
  const ErrorCode code = IsLost(result)                       ? ErrorCode::kUnavailable
                         : result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::kResourceExhausted
                                                              : ErrorCode::kInternal;
  return base::Fail(code, StrCat(doing, ": ", NameOf(result)));
}

bool IsLost(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_UNKNOWN:
    case CUDA_ERROR_DEINITIALIZED:
      return true;
    default:
      return false;
  }
}

}  // namespace eidolon::timing::replay
