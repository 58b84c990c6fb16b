#include "shim/vendor/cudnn/graph_work.h"

#include <algorithm>
#include <cstring>
#include <iterator>

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
  ring::DnnTensor entry{};
  entry.uid = found->second;
  entry.rank = static_cast<std::uint32_t>(
      std::min<std::size_t>(tensor.dims.size(), static_cast<std::size_t>(ring::kMaxDnnDims)));
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

void GraphWork::AddInput(ring::DnnOperation& operation, std::int64_t number) {
  if (operation.input_count < std::size(operation.inputs)) {
    operation.inputs[operation.input_count++] = number;
  }
}

void GraphWork::AddOutput(ring::DnnOperation& operation, std::int64_t number) {
  if (operation.output_count < std::size(operation.outputs)) {
    operation.outputs[operation.output_count++] = number;
  }
}

std::vector<std::byte> GraphWork::Bytes(std::uint32_t engine, std::string_view nodes) const {
  const std::size_t tensor_bytes = tensors_.size() * sizeof(ring::DnnTensor);
  const std::size_t operation_bytes = operations_.size() * sizeof(ring::DnnOperation);
  ring::DnnGraphWork work{};
  const std::size_t bytes = sizeof(work) + tensor_bytes + operation_bytes + nodes.size();
  work.header = {ring::WorkKind::kDnnGraph, static_cast<std::uint32_t>(bytes)};
  work.tensor_count = static_cast<std::uint32_t>(tensors_.size());
  work.operation_count = static_cast<std::uint32_t>(operations_.size());
  work.engine = engine;
  work.node_bytes = static_cast<std::uint32_t>(nodes.size());
  std::vector<std::byte> result(bytes);
  std::memcpy(result.data(), &work, sizeof(work));
  if (tensor_bytes > 0) std::memcpy(result.data() + sizeof(work), tensors_.data(), tensor_bytes);
  if (operation_bytes > 0) {
    std::memcpy(result.data() + sizeof(work) + tensor_bytes, operations_.data(), operation_bytes);
  }
  if (!nodes.empty()) {
    std::memcpy(result.data() + bytes - nodes.size(), nodes.data(), nodes.size());
  }
  return result;
}

}  // namespace eidolon::shim::cudnn
