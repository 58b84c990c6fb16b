// A worker with a real GPU rebuilds the graph from these bytes, and equal graphs must give equal
// bytes in every process, or a measured time would not be found again. So everything that differs
// by chance is replaced: a node's index is that of the first node with the same content, tensors
// have their numbers in the work, and handles and pointers are left out. Nodes come after the ones
// that they refer to. Attributes are in the order of their numbers (a sorted map). Depth and size
// are bounded, since graphs may contain graphs.
#include "shim/vendor/cudnn/graph_nodes.h"

#include <cstring>

#include "services/contract/workload/dnn_nodes.h"
#include "services/contract/workload/dnn_value.h"

namespace eidolon::shim::cudnn {
namespace {

constexpr int kDepthMax = 32;
constexpr std::size_t kBytesMax = 256 << 10;  // A fused attention's gradient takes 20 KiB.

template <typename T>
void Append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Handles are the worker's own.
bool IsKept(const Attribute& attribute) {
  return attribute.type != CUDNN_TYPE_HANDLE && attribute.type != CUDNN_TYPE_VOID_PTR;
}

// Whole numbers decide how much of an attention's matrix is masked; others change no time.
bool HasValueSlot(const Node& node) {
  return node.type == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
         node.Get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0, false) &&
         node.Get<std::int32_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, 0, 0) == CUDNN_DATA_INT32;
}

// Their elements are identifiers of tensors.
bool HoldsIdentifiers(cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_TENSOR_UNIQUE_ID:
    case CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID:
    case CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID:
    case CUDNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH_INPUT_UID:
    case CUDNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH_OUTPUT_UID:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool GraphNodes::Add(const Node& graph) {
  std::uint32_t index = 0;
  return AddNode(graph, 0, &index);
}

std::int64_t GraphNodes::NumberOf(std::int64_t uid) {
  const std::int64_t number = work_.NumberOf(uid);
  if (number != 0) return number;
  const auto next = static_cast<std::int64_t>(work_.tensors().size() + more_numbers_.size() + 1);
  return more_numbers_.try_emplace(uid, next).first->second;
}

void GraphNodes::AppendElements(const Node& node, cudnnBackendAttributeName_t name,
                                const Attribute& attribute, std::string& out) {
  if (HoldsIdentifiers(name) && attribute.type == CUDNN_TYPE_INT64) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(attribute.count()); ++i) {
      Append(out, NumberOf(node.Get<std::int64_t>(name, i, 0)));
    }
    return;
  }
  out.append(reinterpret_cast<const char*>(attribute.bytes.data()), attribute.bytes.size());
}

bool GraphNodes::AddNode(const Node& node, int depth, std::uint32_t* index) {
  if (const auto known = visited_.find(&node); known != visited_.end()) {
    *index = known->second;
    return true;
  }
  if (depth > kDepthMax) return false;
  workload::DnnNodeHead header{.type = static_cast<std::uint32_t>(node.type), .attribute_count = 0};
  std::string attributes;
  for (const auto& [name, attribute] : node.attributes) {
    if (!IsKept(attribute)) continue;
    workload::DnnAttributeHead entry{
        .name = static_cast<std::uint32_t>(name),
        .type = static_cast<std::uint32_t>(attribute.type),
        .element_bytes = static_cast<std::uint32_t>(attribute.bytes.size()),
        .reference_count = static_cast<std::uint32_t>(attribute.nodes.size())};
    if (attribute.bytes.size() + 4 * attribute.nodes.size() > kBytesMax) return false;
    Append(attributes, entry);
    AppendElements(node, name, attribute, attributes);
    for (const auto& other : attribute.nodes) {
      std::uint32_t reference = 0;
      if (!AddNode(*other, depth + 1, &reference)) return false;
      Append(attributes, reference);
    }
    ++header.attribute_count;
  }
  const bool has_value = HasValueSlot(node);
  if (has_value) {
    Append(attributes, workload::DnnAttributeHead{.name = workload::kDnnValue,
                                                  .type = CUDNN_TYPE_INT32,
                                                  .element_bytes = sizeof(std::int32_t),
                                                  .reference_count = 0});
    Append(attributes, std::int32_t{0});
    ++header.attribute_count;
  }
  std::string content;
  Append(content, header);
  content += attributes;
  const auto [found, is_new] =
      by_content_.try_emplace(content, static_cast<std::uint32_t>(by_content_.size()));
  if (is_new) {
    bytes_ += content;
    if (has_value) {
      values_.push_back({node.Get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0, 0),
                         bytes_.size() - sizeof(std::int32_t)});
    }
  }
  visited_.emplace(&node, found->second);
  *index = found->second;
  return bytes_.size() <= kBytesMax;
}

}  // namespace eidolon::shim::cudnn
