// Modules and libraries are one object with two rules: a module belongs to a context and needs a
// current one, while a library only needs cuInit. Loading reads the image at once, because the
// program may free it; kernels and variables are found by name when they are asked for. Variables
// are per device, so their address is that on the current context's device.
#include "shim/vendor/cuda_driver/module.h"

#include <algorithm>

#include "shim/gpu/context/context.h"
#include "shim/gpu/module/module.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_driver/jit.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::module {
namespace {

using gpu::Status;

// Loads with `load` and stores the handle.
template <typename Handle, typename Load>
CUresult Give(Handle* result, Load&& load) {
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  gpu::Library* library = nullptr;
  const Status status = load(&library);
  if (status == Status::kSuccess) *result = reinterpret_cast<Handle>(library);
  return ToResult(status);
}

// Modules belong to a context, libraries do not.
template <typename Load>
CUresult GiveModule(CUmodule* result, Load&& load) {
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  return Give(result, load);
}

template <typename Load>
CUresult GiveLibrary(CUlibrary* result, Load&& load) {
  if (!gpu::IsInitialized()) return CUDA_ERROR_NOT_INITIALIZED;
  return Give(result, load);
}

// Runs `body` on the library of a handle.
template <typename Body>
CUresult With(const void* handle, Body&& body) {
  gpu::Library* library = gpu::LookupLibrary(handle);
  return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : ToResult(body(*library));
}

template <typename Handle>
CUresult FindKernel(Handle* result, const void* handle, const char* name) {
  if (result == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Library& library) {
    gpu::Kernel* kernel = nullptr;
    const Status status = library.FindKernel(name, &kernel);
    if (status == Status::kSuccess) *result = reinterpret_cast<Handle>(kernel);
    return status;
  });
}

CUresult Count(unsigned* count, const void* handle) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Library& library) {
    *count = static_cast<unsigned>(library.index().functions().size());
    return Status::kSuccess;
  });
}

template <typename Handle>
CUresult Enumerate(Handle* handles, unsigned count, const void* handle) {
  if (handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Library& library) {
    const auto all = library.Kernels();
    for (std::size_t i = 0; i < std::min<std::size_t>(count, all.size()); ++i) {
      handles[i] = reinterpret_cast<Handle>(all[i]);
    }
    return Status::kSuccess;
  });
}

CUresult FindGlobal(CUdeviceptr* address, std::size_t* bytes, const void* handle,
                    const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  return With(handle, [&](gpu::Library& library) {
    gpu::Variable variable;
    const Status status = library.FindVariable(name, gpu::CurrentDevice(), &variable);
    if (status != Status::kSuccess) return status;
    if (address != nullptr) *address = variable.address;
    if (bytes != nullptr) *bytes = variable.bytes;
    return status;
  });
}

CUresult UnloadHandle(const void* handle) {
  return With(handle, [](gpu::Library& library) {
    library.UnloadForProgram();
    return Status::kSuccess;
  });
}

}  // namespace

CUresult Load(CUmodule* module, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return GiveModule(module,
                    [&](gpu::Library** library) { return gpu::LoadImageFile(path, library); });
}

CUresult LoadData(CUmodule* module, const void* image) {
  return GiveModule(module, [&](gpu::Library** library) { return gpu::LoadImage(image, library); });
}

CUresult LoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                    void** values) {
  const jit::Options asked(count, options, values);
  gpu::Compilation compilation{.settings = asked.settings()};
  const CUresult result = GiveModule(
      module, [&](gpu::Library** library) { return gpu::LoadImage(image, library, &compilation); });
  asked.Tell(compilation.errors, compilation.remarks);
  return result;
}

CUresult Unload(CUmodule module) { return UnloadHandle(module); }

CUresult GetFunction(CUfunction* function, CUmodule module, const char* name) {
  return FindKernel(function, module, name);
}

CUresult GetFunctionCount(unsigned* count, CUmodule module) { return Count(count, module); }

CUresult EnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  return Enumerate(functions, count, module);
}

CUresult GetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
  return FindGlobal(address, bytes, module, name);
}

CUresult GetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

// Options of the loader change neither layouts nor, as far as we can tell, times.
CUresult LoadLibraryData(CUlibrary* library, const void* code, CUjit_option* options, void** values,
                         unsigned count, CUlibraryOption* /*library_options*/,
                         void** /*library_values*/, unsigned /*library_count*/) {
  const jit::Options asked(count, options, values);
  gpu::Compilation compilation{.settings = asked.settings()};
  const CUresult result = GiveLibrary(
      library, [&](gpu::Library** made) { return gpu::LoadImage(code, made, &compilation); });
  asked.Tell(compilation.errors, compilation.remarks);
  return result;
}

CUresult LoadLibraryFile(CUlibrary* library, const char* path, CUjit_option* options, void** values,
                         unsigned count, CUlibraryOption* /*library_options*/,
                         void** /*library_values*/, unsigned /*library_count*/) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const jit::Options asked(count, options, values);
  gpu::Compilation compilation{.settings = asked.settings()};
  const CUresult result = GiveLibrary(
      library, [&](gpu::Library** made) { return gpu::LoadImageFile(path, made, &compilation); });
  asked.Tell(compilation.errors, compilation.remarks);
  return result;
}

CUresult UnloadLibrary(CUlibrary library) { return UnloadHandle(library); }

CUresult GetModule(CUmodule* module, CUlibrary handle) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Library& library) {
    *module = reinterpret_cast<CUmodule>(&library);
    return Status::kSuccess;
  });
}

CUresult GetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return FindKernel(kernel, library, name);
}

CUresult GetKernelCount(unsigned* count, CUlibrary library) { return Count(count, library); }

CUresult EnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  return Enumerate(kernels, count, library);
}

CUresult GetLibraryGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary library,
                          const char* name) {
  return FindGlobal(address, bytes, library, name);
}

}  // namespace eidolon::shim::cuda_driver::module
