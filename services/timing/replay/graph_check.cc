// Descriptors come from another process and are handed to a library that trusts its caller, so each
// attribute is checked for kind, size and references; a node may refer only to earlier ones, which
// excludes cycles. What is refused besides is work whose time depends on data: lengths and tables
// that a graph reads from memory would be the worker's random numbers. Seeds are exempt, as any
// seed makes the same work, and so are whole numbers that a graph only writes.
#include "services/timing/replay/graph_check.h"

#include <cudnn.h>
#include <library_types.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <set>
#include <vector>

#include "services/base/text.h"
#include "services/contract/workload/dnn_value.h"
#include "services/timing/replay/cudnn.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using kernel::DnnAttribute;
using kernel::DnnGraph;
using kernel::DnnNode;

namespace {

constexpr std::size_t kDimsMax = 8;
constexpr std::uint32_t kNamesEnd = 4096;  // Of cudnnBackendAttributeName_t.
constexpr std::uint32_t kTypesEnd = 64;    // Of cudnnBackendAttributeType_t.

std::unexpected<base::Error> Refuse(const std::string& what) {
  return base::Fail(ErrorCode::kUnsupported, StrCat(what, " is not replayed"));
}

bool IsPlayed(std::uint32_t type) {
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_RNG_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR:
      return true;
    default:
      return false;
  }
}

// The cudaDataType_t of a cudnnDataType_t; -1 for types that are not replayed.
int CudaTypeOf(std::int32_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      return CUDA_R_64F;
    case CUDNN_DATA_FLOAT:
      return CUDA_R_32F;
    case CUDNN_DATA_HALF:
      return CUDA_R_16F;
    case CUDNN_DATA_BFLOAT16:
      return CUDA_R_16BF;
    case CUDNN_DATA_FP8_E4M3:
      return CUDA_R_8F_E4M3;
    case CUDNN_DATA_FP8_E5M2:
      return CUDA_R_8F_E5M2;
    case CUDNN_DATA_INT8:
      return CUDA_R_8I;
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
      return CUDA_R_8U;
    case CUDNN_DATA_INT32:
      return CUDA_R_32I;
    case CUDNN_DATA_INT64:
      return CUDA_R_64I;
    default:
      return -1;
  }
}

bool IsWhole(std::uint32_t type) {
  return type == CUDA_R_8I || type == CUDA_R_8U || type == CUDA_R_32I || type == CUDA_R_64I;
}

// Whatever they hold, the same work is done.
bool IsSeed(std::uint32_t attribute) {
  switch (attribute) {
    case CUDNN_ATTR_OPERATION_RNG_SEED:
    case CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC:
    case CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_SEED_DESC:
    case CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_OFFSET_DESC:
      return true;
    default:
      return false;
  }
}

const DnnAttribute* Find(const DnnNode& node, std::uint32_t name) {
  const auto found =
      std::find_if(node.attributes.begin(), node.attributes.end(),
                   [&](const DnnAttribute& attribute) { return attribute.name == name; });
  return found == node.attributes.end() ? nullptr : &*found;
}

// The elements of an attribute; none when it is missing, or not of whole elements.
template <typename T>
std::vector<T> Elements(const DnnNode& node, std::uint32_t name) {
  const DnnAttribute* attribute = Find(node, name);
  if (attribute == nullptr || attribute->elements.size() % sizeof(T) != 0) return {};
  std::vector<T> values(attribute->elements.size() / sizeof(T));
  if (!values.empty()) {
    std::memcpy(values.data(), attribute->elements.data(), attribute->elements.size());
  }
  return values;
}

bool IsSet(const DnnNode& node, std::uint32_t name) {
  const auto values = Elements<unsigned char>(node, name);
  return !values.empty() && values.front() != 0;
}

Result<GraphTensor> ReadTensor(const DnnNode& node) {
  const auto types = Elements<std::int32_t>(node, CUDNN_ATTR_TENSOR_DATA_TYPE);
  const auto dims = Elements<std::int64_t>(node, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = Elements<std::int64_t>(node, CUDNN_ATTR_TENSOR_STRIDES);
  if (types.size() != 1 || dims.empty() || dims.size() != strides.size() ||
      dims.size() > kDimsMax) {
    return Refuse(
        StrCat("a tensor of ", dims.size(), " dimensions and ", strides.size(), " strides"));
  }
  const int type = CudaTypeOf(types.front());
  if (type < 0) return Refuse(StrCat("a tensor of cuDNN's data type ", types.front()));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] <= 0 || dims[i] > INT_MAX) return Refuse(StrCat("a dimension of ", dims[i]));
    if (strides[i] < 0) return Refuse(StrCat("a stride of ", strides[i]));
  }
  const auto vectors = Elements<std::int64_t>(node, CUDNN_ATTR_TENSOR_VECTOR_COUNT);
  if (!vectors.empty() && vectors.front() != 1) return Refuse("a vectorised tensor");
  const auto order = Elements<std::int32_t>(node, CUDNN_ATTR_TENSOR_REORDERING_MODE);
  if (!order.empty() && order.front() != CUDNN_TENSOR_REORDERING_NONE) {
    return Refuse("a reordered tensor");
  }
  if (Find(node, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC) != nullptr) {
    return Refuse("a ragged tensor, whose lengths only the GPU knows,");
  }
  GraphTensor tensor{.type = static_cast<std::uint32_t>(type),
                     .elements = DnnExtentOf(dims, strides),
                     .by_value = IsSet(node, CUDNN_ATTR_TENSOR_IS_BY_VALUE),
                     .value = {}};
  for (const std::uint32_t name :
       {std::uint32_t{CUDNN_ATTR_TENSOR_CONSTANT_VALUE}, workload::kDnnValue}) {
    if (const DnnAttribute* value = Find(node, name)) {
      tensor.value = value->elements;
      tensor.by_value = true;
    }
  }
  if (tensor.by_value && (tensor.elements != 1 || tensor.value.size() > sizeof(double))) {
    return Refuse("a tensor that is passed by value and holds more than a number");
  }
  return tensor;
}

// An attribute holds elements or references, never both, and references lead to earlier nodes only.
Result<void> CheckNode(const DnnGraph& graph, const DnnNode& node) {
  if (!IsPlayed(node.type)) return Refuse(StrCat("a cuDNN descriptor of type ", node.type));
  for (const DnnAttribute& attribute : node.attributes) {
    const bool refers = attribute.type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
    bool makes_sense = refers ? attribute.elements.empty() : attribute.nodes.empty();
    if (attribute.name >= kNamesEnd && attribute.name != workload::kDnnValue) makes_sense = false;
    if (!makes_sense || attribute.type >= kTypesEnd || attribute.type == CUDNN_TYPE_HANDLE ||
        attribute.type == CUDNN_TYPE_VOID_PTR ||
        attribute.elements.size() % DnnElementBytes(attribute.type) != 0) {
      return Refuse(StrCat("a damaged cuDNN attribute ", attribute.name));
    }
    const auto first = static_cast<std::size_t>(&node - graph.nodes.data());
    for (const std::uint32_t index : attribute.nodes) {
      if (index >= first) return Refuse(StrCat("a cuDNN descriptor that refers to ", index));
    }
  }
  return {};
}

// Identifiers of tensors whose whole numbers do not decide over the work: those written, and seeds.
std::set<std::int64_t> HarmlessOf(const DnnGraph& graph) {
  std::set<std::int64_t> harmless;
  for (const kernel::DnnOperation& operation : graph.operations) {
    harmless.insert(operation.Outputs().begin(), operation.Outputs().end());
  }
  for (const DnnNode& node : graph.nodes) {
    for (const DnnAttribute& attribute : node.attributes) {
      if (!IsSeed(attribute.name)) continue;
      for (const std::uint32_t index : attribute.nodes) {
        const auto uids = Elements<std::int64_t>(graph.nodes[index], CUDNN_ATTR_TENSOR_UNIQUE_ID);
        harmless.insert(uids.begin(), uids.end());
      }
    }
  }
  return harmless;
}

}  // namespace

Result<std::map<std::int64_t, GraphTensor>> CheckGraph(const DnnGraph& graph) {
  if (graph.nodes.empty() || graph.nodes.back().type != CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    return Refuse("a cuDNN graph without its descriptors");
  }
  for (const DnnNode& node : graph.nodes) {
    if (auto good = CheckNode(graph, node); !good) return std::unexpected(good.error());
  }
  const std::set<std::int64_t> harmless = HarmlessOf(graph);
  std::map<std::int64_t, GraphTensor> tensors;
  for (const DnnNode& node : graph.nodes) {
    if (node.type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
    const auto tensor = ReadTensor(node);
    if (!tensor) return std::unexpected(tensor.error());
    if (IsSet(node, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) continue;
    const auto uids = Elements<std::int64_t>(node, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    if (uids.size() != 1) return Refuse("a tensor without an identifier");
    if (!tensor->by_value && IsWhole(tensor->type) && !harmless.contains(uids.front())) {
      return Refuse("a graph that reads whole numbers (lengths, tables) from memory");
    }
    const auto [known, is_new] = tensors.try_emplace(uids.front(), *tensor);
    if (known->second.type != tensor->type || known->second.by_value != tensor->by_value) {
      return Refuse("a tensor of two types");
    }
    known->second.elements = std::max(known->second.elements, tensor->elements);
  }
  return tensors;
}

}  // namespace eidolon::timing::replay
