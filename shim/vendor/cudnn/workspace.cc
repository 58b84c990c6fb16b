#include "shim/vendor/cudnn/workspace.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <algorithm>
#include <cmath>

#include "shim/vendor/library/element_type.h"

namespace eidolon::shim::cudnn {
namespace {

using workload::DnnOperation;
using workload::DnnTensor;

// The tensor with a number; nullptr without one.
const DnnTensor* Find(std::span<const DnnTensor> tensors, std::int64_t number) {
  const auto found = std::ranges::find(tensors, number, &DnnTensor::uid);
  return found == tensors.end() ? nullptr : &*found;
}

const DnnTensor* Output(std::span<const DnnTensor> tensors, const DnnOperation& operation) {
  return operation.output_count == 0 ? nullptr : Find(tensors, operation.outputs[0]);
}

double ElementsOf(const DnnTensor& tensor) {
  double elements = 1;
  for (std::uint32_t i = 0; i < tensor.rank; ++i) {
    elements *= static_cast<double>(std::max<std::int64_t>(tensor.dims[i], 1));
  }
  return elements;
}

double FilterBytes(std::span<const DnnTensor> tensors, std::span<const DnnOperation> operations) {
  double bytes = 0;
  for (const DnnOperation& operation : operations) {
    if (operation.kind != CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR) continue;
    const DnnTensor* filter = Output(tensors, operation);
    if (filter == nullptr || library::BitsOf(filter->type) >= 32) continue;
    bytes += ElementsOf(*filter) * sizeof(float);
  }
  return bytes;
}

// The five GEMMs of attention's backward pass. The usual one adds the queries' gradients up in
// a tensor of single precision; the deterministic one multiplies the stored score gradients, which
// have the shape of the first GEMM, queries by keys. In 8 bits there is but one, which needs
// neither.
double ScoreGradientBytes(std::span<const DnnTensor> tensors,
                          std::span<const DnnOperation> operations) {
  constexpr double kTile = 64;
  const DnnTensor* scores = nullptr;
  int gemms = 0;
  for (const DnnOperation& operation : operations) {
    if (operation.kind != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
    const DnnTensor* output = Output(tensors, operation);
    if (output == nullptr) continue;
    ++gemms;
    if (scores == nullptr) scores = output;
    const DnnTensor* input = Find(tensors, operation.inputs[0]);
    if (input != nullptr && library::BitsOf(input->type) == 8) return 0;
    if (output->is_virtual == 0 && output->type == CUDA_R_32F) return 0;
  }
  if (gemms < 5 || scores->rank != 4) return 0;
  double bytes = 2.0 * static_cast<double>(std::max<std::int64_t>(scores->dims[0], 1)) *
                 static_cast<double>(std::max<std::int64_t>(scores->dims[1], 1));
  for (const int side : {2, 3}) {
    bytes *= std::ceil(static_cast<double>(std::max<std::int64_t>(scores->dims[side], 1)) / kTile) *
             kTile;
  }
  return bytes;
}

}  // namespace

std::int64_t WorkspaceOf(std::span<const DnnTensor> tensors,
                         std::span<const DnnOperation> operations) {
  constexpr double kWorkspaceMax = 1e15;  // No device has that much; sizes below are exact.
  const double bytes = FilterBytes(tensors, operations) + ScoreGradientBytes(tensors, operations);
  return static_cast<std::int64_t>(std::min(bytes, kWorkspaceMax));
}

}  // namespace eidolon::shim::cudnn
