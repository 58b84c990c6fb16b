#include "shim/vendor/cuda_runtime/launch_shape.h"

#include <span>

namespace eidolon::shim::cuda_runtime::launch {

gpu::LaunchShape ShapeOf(const cudaLaunchConfig_t& config) {
  gpu::LaunchShape shape{
      ToDim3(config.gridDim), ToDim3(config.blockDim), {}, config.dynamicSmemBytes, false};
  if (config.attrs == nullptr) return shape;
  for (const cudaLaunchAttribute& attribute : std::span(config.attrs, config.numAttrs)) {
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& dims = attribute.val.clusterDim;
      shape.cluster = {dims.x, dims.y, dims.z};
    } else if (attribute.id == cudaLaunchAttributeCooperative) {
      shape.cooperative = attribute.val.cooperative != 0;
    }
  }
  return shape;
}

}  // namespace eidolon::shim::cuda_runtime::launch
