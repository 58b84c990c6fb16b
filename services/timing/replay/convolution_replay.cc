// A convolution's definition may have shapes and no descriptors, so these are made here. They refer
// to each other by address: members are declared in that order, and live as long as the plan. The
// identity's first input, second input and output mean other tensors for each direction, which the
// Form table resolves. Everything is checked before the library is asked, so that it never sees
// sizes that make no sense.
#include "services/timing/replay/convolution_replay.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr std::int64_t kAlignment = 16;  // Bytes, as PyTorch's allocator and views mostly have.

// The library's number of a cudaDataType_t; -1 for types that are not replayed.
int DnnTypeOf(std::uint32_t type) {
  switch (type) {
    case CUDA_R_64F:
      return CUDNN_DATA_DOUBLE;
    case CUDA_R_32F:
      return CUDNN_DATA_FLOAT;
    case CUDA_R_16F:
      return CUDNN_DATA_HALF;
    case CUDA_R_16BF:
      return CUDNN_DATA_BFLOAT16;
    default:
      return -1;
  }
}

const kernel::DnnTensor* FindTensor(const kernel::DnnGraph& graph, std::int64_t uid) {
  const auto found = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                                  [&](const auto& tensor) { return tensor.uid == uid; });
  return found == graph.tensors.end() ? nullptr : &*found;
}

std::string RefusalOf(const kernel::DnnTensor& tensor, std::size_t rank) {
  if (DnnTypeOf(tensor.type) < 0) {
    return StrCat("tensors of data type ", tensor.type, " are not replayed");
  }
  if (tensor.is_virtual) return "a convolution whose tensor is not in memory is not replayed";
  if (tensor.rank != rank + 2) {
    return StrCat("a tensor of ", tensor.rank, " dimensions is not replayed");
  }
  for (const std::int64_t dim : tensor.Dims()) {
    if (dim <= 0 || dim > INT_MAX) return StrCat("a dimension of ", dim, " is not replayed");
  }
  for (const std::int64_t stride : tensor.Strides()) {
    if (stride < 0) return StrCat("a stride of ", stride, " is not replayed");
  }
  return "";
}

std::string RefusalOf(const kernel::DnnGraph& graph) {
  if (graph.operations.size() != 1) {
    return StrCat("cuDNN graphs of ", graph.operations.size(), " operations are not replayed");
  }
  if (graph.WithoutTensorCores()) return "a convolution without tensor cores is not replayed";
  const kernel::DnnOperation& operation = graph.operations.front();
  const std::size_t rank = operation.convolution_rank;
  if (rank == 0 || operation.input_count != 2 || operation.output_count != 1) {
    return "a convolution without its sizes is not replayed";
  }
  const auto are_within = [](std::span<const std::int64_t> numbers, std::int64_t least) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](std::int64_t number) { return number >= least && number <= INT_MAX; });
  };
  if (!are_within(operation.Pads(), 0) || !are_within(operation.PostPads(), 0) ||
      !are_within(operation.Strides(), 1) || !are_within(operation.Dilations(), 1)) {
    return "a convolution of absurd sizes is not replayed";
  }
  for (const std::int64_t uid : {operation.inputs[0], operation.inputs[1], operation.outputs[0]}) {
    const kernel::DnnTensor* tensor = FindTensor(graph, uid);
    if (tensor == nullptr) return "a convolution without its tensors is not replayed";
    if (std::string refusal = RefusalOf(*tensor, rank); !refusal.empty()) return refusal;
  }
  return "";
}

}  // namespace

struct ConvolutionCall::Form {
  cudnnBackendDescriptorType_t kind;
  cudnnBackendAttributeName_t descriptor, alpha, beta;
  std::array<cudnnBackendAttributeName_t, 3> tensors;  // Inputs in the identity's order, output.
};

const ConvolutionCall::Form* ConvolutionCall::FormOf(std::uint32_t kind) {
  static constexpr Form kForms[] = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
       {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW}},
  };
  const auto* found = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& form) {
    return static_cast<std::uint32_t>(form.kind) == kind;
  });
  return found == std::end(kForms) ? nullptr : found;
}

Result<std::unique_ptr<ConvolutionCall>> ConvolutionCall::Prepare(Cudnn& cudnn,
                                                                  const kernel::DnnGraph& graph,
                                                                  CUstream stream) {
  if (graph.operations.size() == 1 && FormOf(graph.operations.front().kind) == nullptr) {
    return base::Fail(
        ErrorCode::kUnsupported,
        StrCat("cuDNN operations of kind ", graph.operations.front().kind, " are not replayed"));
  }
  if (const std::string refusal = RefusalOf(graph); !refusal.empty()) {
    return base::Fail(ErrorCode::kUnsupported, refusal);
  }
  std::unique_ptr<ConvolutionCall> call(new ConvolutionCall(cudnn));
  const kernel::DnnOperation& operation = graph.operations.front();
  bool is_double = false;
  for (const std::int64_t uid : {operation.inputs[0], operation.inputs[1], operation.outputs[0]}) {
    const kernel::DnnTensor& tensor = *FindTensor(graph, uid);
    is_double = is_double || tensor.type == CUDA_R_64F;
    if (auto added = call->AddTensor(tensor, stream); !added) {
      return std::unexpected(added.error());
    }
  }
  if (auto described = call->Describe(operation, is_double); !described) {
    return std::unexpected(described.error());
  }
  const cudnnBackendHeurMode_t heuristics[] = {CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_FALLBACK};
  auto done = call->plan_.Choose(call->graph_, heuristics, "this convolution", stream);
  if (done) {
    std::array<void*, 3> pointers{};
    for (std::size_t i = 0; i < pointers.size(); ++i) pointers[i] = call->operands_[i].pointer();
    done = call->plan_.Bind(call->uids_, pointers);
  }
  if (!done) return std::unexpected(done.error());
  return call;
}

Result<void> ConvolutionCall::AddTensor(const kernel::DnnTensor& tensor, CUstream stream) {
  auto made = cudnn_.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  const DnnDescriptor& descriptor = *made;
  const auto type = static_cast<cudnnDataType_t>(DnnTypeOf(tensor.type));
  const auto rank = static_cast<std::int64_t>(tensor.rank);
  auto done = cudnn_.Set(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  if (done) {
    done =
        cudnn_.Set(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, tensor.dims);
  }
  if (done) {
    done =
        cudnn_.Set(descriptor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, tensor.strides);
  }
  if (done) {
    done = cudnn_.Set(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &tensor.uid);
  }
  if (done) {
    done =
        cudnn_.Set(descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &kAlignment);
  }
  if (done) done = cudnn_.Finish(descriptor, "describing a tensor");
  if (!done) return done;
  auto operand = Operand::Make(cudnn_.driver(), tensor.type,
                               DnnExtentOf(tensor.Dims(), tensor.Strides()), stream);
  if (!operand) return std::unexpected(operand.error());
  tensors_[tensor_count_] = std::move(*made);
  operands_[tensor_count_] = std::move(*operand);
  uids_[tensor_count_++] = tensor.uid;
  return {};
}

Result<void> ConvolutionCall::Describe(const kernel::DnnOperation& operation, bool is_double) {
  auto made = cudnn_.Make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  convolution_ = std::move(*made);
  const auto rank = static_cast<std::int64_t>(operation.convolution_rank);
  // PyTorch computes so: in single precision, except for double.
  const cudnnDataType_t compute = is_double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  const auto mode = static_cast<cudnnConvolutionMode_t>(operation.mode);
  const struct {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    std::int64_t count;
    const void* values;
  } settings[] = {
      {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &rank},
      {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute},
      {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode},
      {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, rank, operation.pads},
      {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, rank, operation.post_pads},
      {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, rank, operation.conv_strides},
      {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, rank, operation.dilations},
  };
  for (const auto& setting : settings) {
    auto done = cudnn_.Set(convolution_, setting.name, setting.type, setting.count, setting.values);
    if (!done) return done;
  }
  auto done = cudnn_.Finish(convolution_, "describing the convolution");
  return done ? DescribeFilter(operation, is_double) : done;
}

Result<void> ConvolutionCall::DescribeFilter(const kernel::DnnOperation& operation,
                                             bool is_double) {
  const Form& form = *FormOf(operation.kind);
  auto made = cudnn_.Make(form.kind);
  if (!made) return std::unexpected(made.error());
  operation_ = std::move(*made);
  auto done = cudnn_.Refer(operation_, form.descriptor, convolution_);
  for (std::size_t i = 0; done && i < tensors_.size(); ++i) {
    done = cudnn_.Refer(operation_, form.tensors[i], tensors_[i]);
  }
  const float alpha = 1, beta = 0;
  const double wide_alpha = 1, wide_beta = 0;
  const auto type = is_double ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  const auto pick = [&](const float& narrow, const double& wide) {
    return is_double ? static_cast<const void*>(&wide) : &narrow;
  };
  if (done) done = cudnn_.Set(operation_, form.alpha, type, 1, pick(alpha, wide_alpha));
  if (done) done = cudnn_.Set(operation_, form.beta, type, 1, pick(beta, wide_beta));
  if (done) done = cudnn_.Finish(operation_, "describing the convolution");
  if (!done) return done;
  made = cudnn_.Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  graph_ = std::move(*made);
  const cudnnHandle_t handle = cudnn_.handle();
  done = cudnn_.Set(graph_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  if (done) done = cudnn_.Refer(graph_, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_);
  return done ? cudnn_.Finish(graph_, "making the graph") : done;
}

}  // namespace eidolon::timing::replay
