#include "services/timing/model/dnn_tensors.h"

#include <algorithm>

#include "services/timing/kernel/element_type.h"

namespace eidolon::timing::model {
namespace {

const kernel::DnnTensor* Find(const kernel::DnnGraph& graph, std::int64_t uid) {
  for (const kernel::DnnTensor& tensor : graph.tensors) {
    if (tensor.uid == uid) return &tensor;
  }
  return nullptr;
}

}  // namespace

double Elements(const kernel::DnnTensor& tensor) {
  double count = tensor.rank == 0 ? 0 : 1;
  for (const std::int64_t dim : tensor.Dims())
    count *= static_cast<double>(std::max<std::int64_t>(dim, 0));
  return count;
}

double Dim(const kernel::DnnTensor& tensor, std::size_t index) {
  return index < tensor.rank ? static_cast<double>(std::max<std::int64_t>(tensor.dims[index], 1))
                             : 1;
}

const kernel::DnnTensor* Input(const kernel::DnnGraph& graph, const kernel::DnnOperation& op,
                               std::size_t index) {
  return index < op.input_count ? Find(graph, op.inputs[index]) : nullptr;
}

const kernel::DnnTensor* Output(const kernel::DnnGraph& graph, const kernel::DnnOperation& op) {
  return op.output_count == 0 ? nullptr : Find(graph, op.outputs[0]);
}

double MemoryBytes(const kernel::DnnGraph& graph) {
  double bytes = 0;
  for (const kernel::DnnTensor& tensor : graph.tensors) {
    if (!tensor.is_virtual) bytes += Elements(tensor) * kernel::CudaTypeBytes(tensor.type);
  }
  return bytes;
}

bool IsChannelsFirst(const kernel::DnnTensor& tensor) {
  return tensor.rank > 2 && tensor.dims[1] > 1 && tensor.strides[1] != 1;
}

}  // namespace eidolon::timing::model
