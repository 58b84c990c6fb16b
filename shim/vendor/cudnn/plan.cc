// An operation's attributes are tensors, settings or subgraphs, and their kind tells which. Whether
// a tensor is read or written is in none of them: it follows from the attribute's number
// (kOutputs), and for the statistics of a normalisation from its phase. A tensor that is missing in
// that table would count as read, and its bytes would stay known. Virtual tensors never reach
// memory. A convolution alone is described by its operation; everything else carries its
// descriptors along, so that a worker with a GPU can build the same graph.
#include "shim/vendor/cudnn/plan.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "shim/vendor/cudnn/graph_work.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/cudnn/workspace.h"
#include "shim/vendor/library/element_type.h"

namespace eidolon::shim::cudnn {
namespace {

using Name = cudnnBackendAttributeName_t;

constexpr std::size_t kOperationsMax = 1024;

// Tensors that operations write; every other tensor of an operation is read. Statistics of a
// normalisation are written in training and read in inference.
constexpr Name kOutputs[] = {
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
    CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
    CUDNN_ATTR_OPERATION_POINTWISE_DXDESC,
    CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC,
    CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC,
    CUDNN_ATTR_OPERATION_MATMUL_CDESC,
    CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS,
    CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC,
    CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC,
    CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC,
    CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC,
    CUDNN_ATTR_OPERATION_SIGNAL_YDESC,
    CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_YDESC,
    CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
    CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC,
    CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC,
    CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
    CUDNN_ATTR_OPERATION_EXPAND_BAND_MATRIX_YDESC,
    CUDNN_ATTR_OPERATION_CONTRACT_BAND_MATRIX_YDESC,
    CUDNN_ATTR_OPERATION_RNG_YDESC,
    CUDNN_ATTR_OPERATION_BLOCK_SCALE_QUANTIZE_YDESC,
    CUDNN_ATTR_OPERATION_BLOCK_SCALE_QUANTIZE_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC,
    CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC,
    CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC,
    CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC,
    CUDNN_ATTR_OPERATION_SDPA_FWD_AMAX_SDESC,
    CUDNN_ATTR_OPERATION_SDPA_FWD_AMAX_ODESC,
    CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC,
    CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC,
    CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC,
    CUDNN_ATTR_OPERATION_SDPA_BWD_DSINK_DESC,
    CUDNN_ATTR_OPERATION_MOE_GROUPED_MATMUL_OUTPUT_DESC,
    CUDNN_ATTR_OPERATION_MOE_GROUPED_MATMUL_BWD_DWEIGHT_DESC,
    CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC,
    CUDNN_ATTR_OPERATION_SOFTMAX_YDESC,
    CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC,
    CUDNN_ATTR_OPERATION_SOFTMAX_MAX_DESC,
    CUDNN_ATTR_OPERATION_SOFTMAX_SUM_EXP_DESC,
    CUDNN_ATTR_OPERATION_TRANSPOSE_YDESC,
    CUDNN_ATTR_OPERATION_SLICE_YDESC,
    CUDNN_ATTR_OPERATION_ROPE_FWD_YDESC,
    CUDNN_ATTR_OPERATION_ROPE_BWD_DXDESC,
};

bool IsOutput(const Node& operation, Name name) {
  if (name == CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC ||
      name == CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC) {
    return operation.Get<std::int32_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, 0, 0) ==
           CUDNN_NORM_FWD_TRAINING;
  }
  return std::ranges::find(kOutputs, name) != std::end(kOutputs);
}

Tensor TensorOf(const Node& node) {
  Tensor tensor;
  const Attribute* dims = node.Find(CUDNN_ATTR_TENSOR_DIMENSIONS);
  for (std::int64_t i = 0; dims != nullptr && i < dims->count(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    tensor.dims.push_back(node.Get<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, index, 0));
    tensor.strides.push_back(node.Get<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES, index, 0));
  }
  tensor.type = CudaTypeOf(node.Get<std::int32_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, 0, 0));
  tensor.is_virtual = node.Get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0, false);
  tensor.by_value = node.Get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0, false) ||
                    node.Find(CUDNN_ATTR_TENSOR_CONSTANT_VALUE) != nullptr;
  return tensor;
}

void CopyNumbers(const Node& node, Name name, std::int64_t (&target)[4]) {
  for (std::size_t i = 0; i < std::size(target); ++i) {
    target[i] = node.Get<std::int64_t>(name, i, 0);
  }
}

// Reads the settings of the descriptor that an operation refers to.
void ReadSettings(const Node& settings, workload::DnnOperation& operation) {
  switch (settings.type) {
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      operation.mode = static_cast<std::uint32_t>(
          settings.Get<std::int32_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, 0, 0));
      operation.convolution_rank = static_cast<std::uint32_t>(
          settings.Get<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0, 0));
      CopyNumbers(settings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, operation.pads);
      CopyNumbers(settings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, operation.post_pads);
      CopyNumbers(settings, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, operation.conv_strides);
      CopyNumbers(settings, CUDNN_ATTR_CONVOLUTION_DILATIONS, operation.dilations);
      return;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      operation.mode =
          static_cast<std::uint32_t>(settings.Get<std::int32_t>(CUDNN_ATTR_POINTWISE_MODE, 0, 0));
      return;
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      operation.mode = static_cast<std::uint32_t>(
          settings.Get<std::int32_t>(CUDNN_ATTR_REDUCTION_OPERATOR, 0, 0));
      return;
    case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR:
      operation.mode =
          static_cast<std::uint32_t>(settings.Get<std::int32_t>(CUDNN_ATTR_RESAMPLE_MODE, 0, 0));
      return;
    case CUDNN_BACKEND_RNG_DESCRIPTOR:
      operation.mode =
          static_cast<std::uint32_t>(settings.Get<std::int32_t>(CUDNN_ATTR_RNG_DISTRIBUTION, 0, 0));
      return;
    default:
      return;
  }
}

// Convolutions are described data first, filter second, whatever the attributes' numbers.
int InputOrder(Name name) {
  switch (name) {
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W:
      return CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X + 1;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W:
      return CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY + 1;
    default:
      return name;
  }
}

// Adds operations, those of subgraphs (masks inside attention) after their owner.
class Builder {
 public:
  explicit Builder(Plan& plan) : plan_(plan) {}

  void AddGraph(const Node& graph) {
    const Attribute* ops = graph.Find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
    if (ops == nullptr) return;
    for (const auto& op : ops->nodes) AddOperation(*op);
  }

  void AddOperation(const Node& node) {
    // Graphs inside graphs can multiply without bound.
    too_large_ |= work_.operations().size() >= kOperationsMax;
    if (too_large_) return;
    workload::DnnOperation operation{};
    operation.kind = node.type;
    operation.phase = static_cast<std::uint32_t>(
        node.Get<std::int32_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, 0, 0));
    ReadNormMode(node, operation);
    std::vector<std::pair<int, const Node*>> inputs;
    std::vector<const Node*> subgraphs;
    for (const auto& [name, attribute] : node.attributes) {
      for (const auto& other : attribute.nodes) {
        if (other->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR ||
            other->type >= CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR) {
          subgraphs.push_back(other.get());
        } else if (other->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
          ReadSettings(*other, operation);
        } else if (IsOutput(node, name)) {
          workload::DnnOperation& target = operation;
          GraphWork::AddOutput(target, AddTensor(*other, true));
        } else {
          inputs.emplace_back(InputOrder(name), other.get());
        }
      }
    }
    std::ranges::stable_sort(inputs, {}, &std::pair<int, const Node*>::first);
    for (const auto& [order, tensor] : inputs) {
      GraphWork::AddInput(operation, AddTensor(*tensor, false));
    }
    work_.Add(operation);
    for (const Node* subgraph : subgraphs) {
      if (subgraph->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
        AddGraph(*subgraph);
      } else {
        AddOperation(*subgraph);
      }
    }
  }

  const GraphWork& work() const { return work_; }
  bool unknown_type() const { return unknown_type_; }
  bool too_large() const { return too_large_; }
  bool unknown_convolution() const {
    return std::ranges::any_of(work_.operations(), [](const workload::DnnOperation& operation) {
      return operation.convolution_rank > std::size(operation.pads);
    });
  }

 private:
  static void ReadNormMode(const Node& node, workload::DnnOperation& operation) {
    for (const Name name :
         {CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_ATTR_OPERATION_NORM_BWD_MODE}) {
      if (node.Find(name) == nullptr) continue;
      operation.mode = static_cast<std::uint32_t>(node.Get<std::int32_t>(name, 0, 0));
    }
  }

  std::int64_t AddTensor(const Node& node, bool written) {
    const auto uid = node.Get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0, 0);
    const Tensor tensor = TensorOf(node);
    unknown_type_ |= library::BitsOf(tensor.type) == 0;
    if (written && !tensor.is_virtual) plan_.outputs.push_back({uid, ExtentOf(tensor)});
    return work_.Add(uid, tensor);
  }

  Plan& plan_;
  GraphWork work_;
  bool unknown_type_ = false;
  bool too_large_ = false;
};

// A convolution alone is told by its operation; of all else the descriptors go along.
void Define(const Node& graph, const GraphWork& work, std::uint32_t engine, Plan& plan) {
  GraphNodes nodes(work);
  const bool is_told = work.operations().size() == 1 && work.operations()[0].convolution_rank > 0;
  if (is_told || !nodes.Add(graph)) {
    plan.definition = work.Bytes(engine, {});
    return;
  }
  plan.definition = work.Bytes(engine, nodes.bytes());
  const std::size_t begin = plan.definition.size() - nodes.bytes().size();
  for (ValueSlot slot : nodes.values()) {
    slot.offset += begin;
    plan.values.push_back(slot);
  }
}

}  // namespace

std::shared_ptr<const Plan> MakePlan(const Node& graph, std::int64_t engine,
                                     cudnnStatus_t* status) {
  auto plan = std::make_shared<Plan>();
  Builder builder(*plan);
  builder.AddGraph(graph);
  if (builder.work().empty()) {
    *status = Fail(CUDNN_STATUS_BAD_PARAM, "the operation graph has no operations");
    return nullptr;
  }
  if (builder.too_large()) {
    *status = Fail(CUDNN_STATUS_NOT_SUPPORTED, "the operation graph has too many operations");
    return nullptr;
  }
  if (builder.unknown_convolution()) {
    *status = Fail(CUDNN_STATUS_NOT_SUPPORTED, "a convolution has too many dimensions");
    return nullptr;
  }
  if (builder.unknown_type()) {
    *status = Fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a tensor's data type is unknown");
    return nullptr;
  }
  Define(graph, builder.work(), static_cast<std::uint32_t>(engine), *plan);
  plan->workspace_bytes = WorkspaceOf(builder.work().tensors(), builder.work().operations());
  *status = CUDNN_STATUS_SUCCESS;
  return plan;
}

}  // namespace eidolon::shim::cudnn
