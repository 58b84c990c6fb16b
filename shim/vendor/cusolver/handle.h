// cuSOLVER's dense handle and the objects that carry a routine's options.
#pragma once

#include <cstdint>

#include <cusolverDn.h>

#include "shim/gpu/status.h"
#include "shim/vendor/library/opaque.h"

namespace eidolon::shim::cusolver {

struct Context : library::Opaque<Context> {
  static constexpr std::uint64_t kMagic = 0x6375534f4c766531u;
  cudaStream_t stream = nullptr;
};
// Options change how a routine converges, not what it costs here.
struct Parameters : library::Opaque<Parameters> {
  static constexpr std::uint64_t kMagic = 0x6375534f4c706131u;
};
struct SvdOptions : library::Opaque<SvdOptions> {
  static constexpr std::uint64_t kMagic = 0x6375534f4c737631u;
};
struct EigenOptions : library::Opaque<EigenOptions> {
  static constexpr std::uint64_t kMagic = 0x6375534f4c656931u;
};

cusolverStatus_t ToCusolver(gpu::Status status);

namespace handle {

cusolverStatus_t Create(cusolverDnHandle_t* handle);
cusolverStatus_t Destroy(cusolverDnHandle_t handle);
cusolverStatus_t SetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t GetStream(cusolverDnHandle_t handle, cudaStream_t* stream);
cusolverStatus_t GetVersion(int* version);
cusolverStatus_t GetProperty(libraryPropertyType type, int* value);
cusolverStatus_t CreateParameters(cusolverDnParams_t* parameters);
cusolverStatus_t DestroyParameters(cusolverDnParams_t parameters);
cusolverStatus_t CreateSvdOptions(gesvdjInfo_t* options);
cusolverStatus_t DestroySvdOptions(gesvdjInfo_t options);
cusolverStatus_t CreateEigenOptions(syevjInfo_t* options);
cusolverStatus_t DestroyEigenOptions(syevjInfo_t options);

}  // namespace handle
}  // namespace eidolon::shim::cusolver
