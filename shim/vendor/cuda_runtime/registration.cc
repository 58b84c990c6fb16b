#include "shim/vendor/cuda_runtime/registration.h"

#include "shim/gpu/context/context.h"
#include "shim/gpu/module/host_symbols.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::registration {
namespace {

gpu::Library* LibraryOf(void** handle) { return reinterpret_cast<gpu::Library*>(handle); }

cudaError_t FindSymbol(const void* symbol, gpu::Variable* variable) {
  if (const gpu::Status status = gpu::EnsureContext(); status != gpu::Status::kSuccess) {
    return error_state::Finish(status);
  }
  const gpu::Status status = gpu::FindHostVariable(symbol, gpu::CurrentDevice(), variable);
  if (status == gpu::Status::kNotFound) return error_state::Fail(cudaErrorInvalidSymbol);
  return error_state::Finish(status);
}

}  // namespace

void** RegisterFatBinary(void* fatbin) noexcept {
  return reinterpret_cast<void**>(gpu::RegisterBinary(fatbin));
}

void RegisterFatBinaryEnd(void** /*handle*/) noexcept {}

void UnregisterFatBinary(void** handle) noexcept { gpu::UnregisterBinary(LibraryOf(handle)); }

// Asked by code that uses managed variables, which we do not register: nothing to do.
char InitModule(void** /*handle*/) noexcept { return 1; }

void RegisterFunction(void** handle, const char* host_function, char* /*device_function*/,
                      const char* device_name, int /*thread_limit*/, uint3* /*tid*/, uint3* /*bid*/,
                      dim3* /*block*/, dim3* /*grid*/, int* /*warp_size*/) noexcept {
  gpu::RegisterKernel(LibraryOf(handle), host_function, device_name);
}

void RegisterVar(void** handle, char* host_variable, char* /*device_address*/,
                 const char* device_name, int /*is_extern*/, std::size_t /*size*/,
                 int /*is_constant*/, int /*is_global*/) noexcept {
  gpu::RegisterVariable(LibraryOf(handle), host_variable, device_name);
}

cudaError_t GetSymbolAddress(void** address, const void* symbol) {
  if (address == nullptr) return error_state::Fail(cudaErrorInvalidValue);
  gpu::Variable variable;
  const cudaError_t error = FindSymbol(symbol, &variable);
  if (error == cudaSuccess) *address = reinterpret_cast<void*>(variable.address);
  return error;
}

cudaError_t GetSymbolSize(std::size_t* size, const void* symbol) {
  if (size == nullptr) return error_state::Fail(cudaErrorInvalidValue);
  gpu::Variable variable;
  const cudaError_t error = FindSymbol(symbol, &variable);
  if (error == cudaSuccess) *size = variable.bytes;
  return error;
}

}  // namespace eidolon::shim::cuda_runtime::registration
