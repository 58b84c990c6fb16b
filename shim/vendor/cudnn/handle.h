// cuDNN's handle, versions and messages.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>

#include "shim/gpu/status.h"
#include "shim/vendor/library/opaque.h"

namespace eidolon::shim::cudnn {

// Owned by the program; used by one thread at a time.
struct Context : library::Opaque<Context> {
  static constexpr std::uint64_t kMagic = 0x43754e4e63747831u;
  cudaStream_t stream = nullptr;
};

cudnnStatus_t ToCudnn(gpu::Status status);
// cudaDataType_t's number of a cudnnDataType_t, which a program may set to any number; an invalid
// number for one without a counterpart.
std::uint32_t CudaTypeOf(int type);

// Returns why the calling thread's last call failed, for cudnnGetLastErrorString. Returns the
// status.
cudnnStatus_t Fail(cudnnStatus_t status, const char* sentence);

namespace handle {

cudnnStatus_t Create(cudnnHandle_t* handle);
cudnnStatus_t Destroy(cudnnHandle_t handle);
cudnnStatus_t SetStream(cudnnHandle_t handle, cudaStream_t stream);
cudnnStatus_t GetStream(cudnnHandle_t handle, cudaStream_t* stream);
std::size_t GetVersion();
std::size_t GetMaxDeviceVersion();
std::size_t GetCudartVersion();
cudnnStatus_t GetProperty(libraryPropertyType type, int* value);
const char* GetErrorString(cudnnStatus_t status);
void GetLastErrorString(char* message, std::size_t bytes);

}  // namespace handle
}  // namespace eidolon::shim::cudnn
