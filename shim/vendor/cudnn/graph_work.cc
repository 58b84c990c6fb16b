#include "shim/vendor/cudnn/graph_work.h"

#include <algorithm>
#include <iterator>

#include "services/contract/workload/definition.h"
#include "shim/vendor/library/element_type.h"

namespace eidolon::shim::cudnn {

std::uint64_t ExtentOf(const Tensor& tensor) {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    if (tensor.dims[i] <= 0) return 0;
    const std::int64_t stride = i < tensor.strides.size() ? tensor.strides[i] : 0;
    last += static_cast<std::uint64_t>(tensor.dims[i] - 1) *
            static_cast<std::uint64_t>(std::max<std::int64_t>(stride, 0));
  }
  return library::BytesOf(tensor.type, last + 1);
}

std::int64_t GraphWork::Add(std::int64_t uid, const Tensor& tensor) {
  const auto [found, is_new] = numbers_.try_emplace(uid, std::ssize(tensors_) + 1);
  if (!is_new) return found->second;
  workload::DnnTensor entry{};
  entry.uid = found->second;
  entry.rank = static_cast<std::uint32_t>(
      std::min<std::size_t>(tensor.dims.size(), static_cast<std::size_t>(workload::kMaxDnnDims)));
  std::copy_n(tensor.dims.begin(), entry.rank, entry.dims);
  std::copy_n(tensor.strides.begin(), std::min<std::size_t>(tensor.strides.size(), entry.rank),
              entry.strides);
  entry.type = tensor.type;
  entry.is_virtual = tensor.is_virtual ? 1 : 0;
  entry.by_value = tensor.by_value ? 1 : 0;
  tensors_.push_back(entry);
  return entry.uid;
}

std::int64_t GraphWork::NumberOf(std::int64_t uid) const {
  const auto found = numbers_.find(uid);
  return found == numbers_.end() ? 0 : found->second;
}

void GraphWork::AddInput(workload::DnnOperation& operation, std::int64_t number) {
  if (operation.input_count < std::size(operation.inputs)) {
    operation.inputs[operation.input_count++] = number;
  }
}

void GraphWork::AddOutput(workload::DnnOperation& operation, std::int64_t number) {
  if (operation.output_count < std::size(operation.outputs)) {
    operation.outputs[operation.output_count++] = number;
  }
}

std::vector<std::byte> GraphWork::Bytes(std::uint32_t engine, std::string_view nodes) const {
  workload::DnnGraph work;
  work.tensor_count = static_cast<std::uint32_t>(tensors_.size());
  work.operation_count = static_cast<std::uint32_t>(operations_.size());
  work.engine = engine;
  work.node_bytes = static_cast<std::uint32_t>(nodes.size());
  return workload::Definition(
      work, {std::as_bytes(std::span(tensors_)), std::as_bytes(std::span(operations_)),
             std::as_bytes(std::span(nodes))});
}

}  // namespace eidolon::shim::cudnn
