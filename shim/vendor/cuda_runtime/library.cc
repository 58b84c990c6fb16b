// These are the driver's libraries under the runtime's rules: loading makes a context where there
// is none, and each failure is the thread's last error. Handles are the same pointers in both, so a
// library that one face has loaded can be used through the other.
#include "shim/vendor/cuda_runtime/library.h"

#include <algorithm>

#include "shim/gpu/context/context.h"
#include "shim/gpu/module/module.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::library {
namespace {

using error_state::Fail;
using error_state::Finish;

// Runs `body` on the library of a handle.
template <typename Body>
cudaError_t With(cudaLibrary_t handle, Body&& body) {
  gpu::Library* library = gpu::LookupLibrary(handle);
  if (library == nullptr) return Fail(cudaErrorInvalidResourceHandle);
  return Finish(body(*library));
}

cudaError_t Give(cudaLibrary_t* result, gpu::Library* library, gpu::Status status) {
  if (status == gpu::Status::kSuccess) *result = reinterpret_cast<cudaLibrary_t>(library);
  return Finish(status);
}

}  // namespace

// Options are ignored. Machine code does not depend on them; PTX is compiled as if none were given,
// so a limit of registers, for example, has no effect.
cudaError_t LoadData(cudaLibrary_t* result, const void* code, cudaJitOption* /*options*/,
                     void** /*values*/, unsigned /*count*/, cudaLibraryOption* /*library_options*/,
                     void** /*library_values*/, unsigned /*library_count*/) {
  if (result == nullptr) return Fail(cudaErrorInvalidValue);
  if (const gpu::Status status = gpu::EnsureContext(); status != gpu::Status::kSuccess) {
    return Finish(status);
  }
  gpu::Library* library = nullptr;
  const gpu::Status status = gpu::LoadImage(code, &library);
  return Give(result, library, status);
}

cudaError_t LoadFromFile(cudaLibrary_t* result, const char* path, cudaJitOption* /*options*/,
                         void** /*values*/, unsigned /*count*/,
                         cudaLibraryOption* /*library_options*/, void** /*library_values*/,
                         unsigned /*library_count*/) {
  if (result == nullptr || path == nullptr) return Fail(cudaErrorInvalidValue);
  if (const gpu::Status status = gpu::EnsureContext(); status != gpu::Status::kSuccess) {
    return Finish(status);
  }
  gpu::Library* library = nullptr;
  const gpu::Status status = gpu::LoadImageFile(path, &library);
  return Give(result, library, status);
}

cudaError_t Unload(cudaLibrary_t handle) {
  return With(handle, [](gpu::Library& library) {
    library.UnloadForProgram();
    return gpu::Status::kSuccess;
  });
}

cudaError_t GetKernel(cudaKernel_t* result, cudaLibrary_t handle, const char* name) {
  if (result == nullptr || name == nullptr) return Fail(cudaErrorInvalidValue);
  return With(handle, [&](gpu::Library& library) {
    gpu::Kernel* kernel = nullptr;
    const gpu::Status status = library.FindKernel(name, &kernel);
    if (status == gpu::Status::kSuccess) *result = reinterpret_cast<cudaKernel_t>(kernel);
    return status;
  });
}

cudaError_t GetGlobal(void** address, std::size_t* bytes, cudaLibrary_t handle, const char* name) {
  if (name == nullptr) return Fail(cudaErrorInvalidValue);
  return With(handle, [&](gpu::Library& library) {
    gpu::Variable variable;
    const gpu::Status status = library.FindVariable(name, gpu::CurrentDevice(), &variable);
    if (status != gpu::Status::kSuccess) return status;
    if (address != nullptr) *address = reinterpret_cast<void*>(variable.address);
    if (bytes != nullptr) *bytes = variable.bytes;
    return status;
  });
}

cudaError_t GetKernelCount(unsigned* count, cudaLibrary_t handle) {
  if (count == nullptr) return Fail(cudaErrorInvalidValue);
  return With(handle, [&](gpu::Library& library) {
    *count = static_cast<unsigned>(library.index().functions().size());
    return gpu::Status::kSuccess;
  });
}

cudaError_t EnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t handle) {
  if (kernels == nullptr) return Fail(cudaErrorInvalidValue);
  return With(handle, [&](gpu::Library& library) {
    const auto all = library.Kernels();
    for (std::size_t i = 0; i < std::min<std::size_t>(count, all.size()); ++i) {
      kernels[i] = reinterpret_cast<cudaKernel_t>(all[i]);
    }
    return gpu::Status::kSuccess;
  });
}

}  // namespace eidolon::shim::cuda_runtime::library
