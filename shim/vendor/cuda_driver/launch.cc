#include "shim/vendor/cuda_driver/launch.h"

#include <cstdint>
#include <span>

#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::launch {
namespace {

using gpu::Status;

CUresult Launch(CUfunction function, const gpu::LaunchShape& shape, CUstream stream,
                void** parameters, void** extra) {
  const gpu::Kernel* kernel = gpu::LookupKernel(function);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  gpu::LaunchParameters from;
  const Status status = ParametersOf(parameters, extra, &from);
  if (status != Status::kSuccess) return ToResult(status);
  return ToResult(gpu::LaunchKernel(*kernel, shape, from, stream));
}

}  // namespace

Status ParametersOf(void** parameters, void** extra, gpu::LaunchParameters* result) {
  *result = {.pointers = parameters};
  if (extra == nullptr) return Status::kSuccess;
  if (parameters != nullptr) return Status::kInvalidValue;
  // Pairs of a name and a value, ended by CU_LAUNCH_PARAM_END.
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      result->packed = static_cast<const std::byte*>(extra[1]);
    } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      result->packed_bytes = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return Status::kInvalidValue;
    }
  }
  return Status::kSuccess;
}

gpu::LaunchShape ShapeOf(const CUlaunchConfig& config) {
  gpu::LaunchShape shape{{config.gridDimX, config.gridDimY, config.gridDimZ},
                         {config.blockDimX, config.blockDimY, config.blockDimZ},
                         {},
                         config.sharedMemBytes,
                         false};
  if (config.attrs == nullptr) return shape;
  for (const CUlaunchAttribute& attribute : std::span(config.attrs, config.numAttrs)) {
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& dims = attribute.value.clusterDim;
      shape.cluster = {dims.x, dims.y, dims.z};
    } else if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      shape.cooperative = attribute.value.cooperative != 0;
    }
  }
  return shape;
}

CUresult LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      CUstream stream, void** parameters, void** extra) {
  return Launch(function,
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {}, shared_bytes, false},
                stream, parameters, extra);
}

CUresult LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, CUstream stream,
                                 void** parameters) {
  return Launch(function,
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {}, shared_bytes, true},
                stream, parameters, nullptr);
}

CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                        void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Launch(function, ShapeOf(*config), config->hStream, parameters, extra);
}

}  // namespace eidolon::shim::cuda_driver::launch
