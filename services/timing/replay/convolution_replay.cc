#include "services/timing/replay/convolution_replay.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using base::Wide;

namespace {

constexpr const char* kLibrary = "libcudnn.so.9";
constexpr std::int64_t kEnginesMax = 16;
constexpr std::int64_t kAlignment = 16;  // Bytes, as PyTorch's allocator and views mostly have.

Result<void> CheckDnn(cudnnStatus_t status, const char* doing) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  const bool failed = status / 1000 * 1000 == CUDNN_STATUS_EXECUTION_FAILED;
  return base::Fail(failed ? ErrorCode::kUnavailable : ErrorCode::kInternal,
                    StrCat(doing, ": cuDNN status ", static_cast<int>(status)));
}

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
  if (tensor.dims.size() != rank + 2 || tensor.strides.size() != rank + 2) {
    return StrCat("a tensor of ", tensor.dims.size(), " dimensions is not replayed");
  }
  for (const std::int64_t dim : tensor.dims) {
    if (dim <= 0 || dim > INT_MAX) return StrCat("a dimension of ", dim, " is not replayed");
  }
  for (const std::int64_t stride : tensor.strides) {
    if (stride < 0) return StrCat("a stride of ", stride, " is not replayed");
  }
  return "";
}

std::string RefusalOf(const kernel::DnnGraph& graph) {
  if (graph.operations.size() != 1) {
    return StrCat("cuDNN graphs of ", graph.operations.size(), " operations are not replayed");
  }
  const kernel::DnnOperation& operation = graph.operations.front();
  const std::size_t rank = operation.pads.size();
  if (rank == 0 || operation.strides.size() != rank || operation.dilations.size() != rank ||
      operation.inputs.size() != 2 || operation.outputs.size() != 1 ||
      (!operation.post_pads.empty() && operation.post_pads.size() != rank)) {
    return "a convolution without its sizes is not replayed";
  }
  const auto are_within = [](const std::vector<std::int64_t>& numbers, std::int64_t least) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](std::int64_t number) { return number >= least && number <= INT_MAX; });
  };
  if (!are_within(operation.pads, 0) || !are_within(operation.post_pads, 0) ||
      !are_within(operation.strides, 1) || !are_within(operation.dilations, 1)) {
    return "a convolution of absurd sizes is not replayed";
  }
  for (const std::int64_t uid : {operation.inputs[0], operation.inputs[1], operation.outputs[0]}) {
    const kernel::DnnTensor* tensor = FindTensor(graph, uid);
    if (tensor == nullptr) return "a convolution without its tensors is not replayed";
    if (std::string refusal = RefusalOf(*tensor, rank); !refusal.empty()) return refusal;
  }
  return "";
}

// Elements from the first to the last.
Wide ExtentOf(const kernel::DnnTensor& tensor) {
  Wide last = 0;
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    last += Wide{static_cast<std::uint64_t>(tensor.dims[i] - 1)} *
            static_cast<std::uint64_t>(tensor.strides[i]);
  }
  return last + 1;
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

Result<std::unique_ptr<Cudnn>> Cudnn::Open(const Driver& driver, const std::string& folder) {
  const std::string path = folder.empty() ? kLibrary : StrCat(folder, "/", kLibrary);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return base::Fail(ErrorCode::kNotFound,
                      StrCat("no cuDNN: ", reason == nullptr ? path.c_str() : reason));
  }
  std::unique_ptr<Cudnn> cudnn(new Cudnn(driver));
#define EIDOLON_FIND_CALL(name)                                                        \
  cudnn->name = reinterpret_cast<decltype(cudnn->name)>(dlsym(library, #name));        \
  if (cudnn->name == nullptr) {                                                        \
    return base::Fail(ErrorCode::kUnsupported, StrCat("'", path, "' is not cuDNN 9")); \
  }
  EIDOLON_CUDNN_CALLS(EIDOLON_FIND_CALL)
#undef EIDOLON_FIND_CALL
  if (auto made = CheckDnn(cudnn->cudnnCreate(&cudnn->handle_), "creating a handle"); !made) {
    return std::unexpected(made.error());
  }
  return cudnn;
}

Cudnn::~Cudnn() {
  if (handle_ != nullptr) cudnnDestroy(handle_);
}

std::string Cudnn::version() const {
  const std::size_t version = cudnnGetVersion();
  return StrCat("cudnn ", version / 10000, ".", version / 100 % 100, ".", version % 100);
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
  if (auto done = call->Describe(operation, is_double); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = call->Choose(stream); !done) return std::unexpected(done.error());
  return call;
}

Result<DnnDescriptor> ConvolutionCall::Make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  const auto made =
      CheckDnn(cudnn_.cudnnBackendCreateDescriptor(type, &raw), "creating a descriptor");
  if (!made) return std::unexpected(made.error());
  return DnnDescriptor(raw, [destroy = cudnn_.cudnnBackendDestroyDescriptor](void* descriptor) {
    destroy(descriptor);
  });
}

Result<void> ConvolutionCall::Finish(const DnnDescriptor& descriptor, const char* doing) {
  return CheckDnn(cudnn_.cudnnBackendFinalize(descriptor.get()), doing);
}

Result<void> ConvolutionCall::Set(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
                                  cudnnBackendAttributeType_t type, std::int64_t count,
                                  const void* values) {
  return CheckDnn(cudnn_.cudnnBackendSetAttribute(descriptor.get(), name, type, count, values),
                  "describing the convolution");
}

Result<void> ConvolutionCall::Refer(const DnnDescriptor& descriptor,
                                    cudnnBackendAttributeName_t name, const DnnDescriptor& to) {
  cudnnBackendDescriptor_t raw = to.get();
  return Set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

Result<void> ConvolutionCall::AddTensor(const kernel::DnnTensor& tensor, CUstream stream) {
  auto made = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  const DnnDescriptor& descriptor = *made;
  const auto type = static_cast<cudnnDataType_t>(DnnTypeOf(tensor.type));
  const auto rank = static_cast<std::int64_t>(tensor.dims.size());
  auto done = Set(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  if (done) {
    done =
        Set(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, tensor.dims.data());
  }
  if (done) {
    done =
        Set(descriptor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, tensor.strides.data());
  }
  if (done) {
    done = Set(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &tensor.uid);
  }
  if (done) {
    done = Set(descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &kAlignment);
  }
  if (done) done = Finish(descriptor, "describing a tensor");
  if (!done) return done;
  auto operand = Operand::Make(cudnn_.driver(), tensor.type, ExtentOf(tensor), stream);
  if (!operand) return std::unexpected(operand.error());
  tensors_[tensor_count_] = std::move(*made);
  operands_[tensor_count_] = std::move(*operand);
  uids_[tensor_count_++] = tensor.uid;
  return {};
}

Result<void> ConvolutionCall::Describe(const kernel::DnnOperation& operation, bool is_double) {
  auto made = Make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  convolution_ = std::move(*made);
  const auto rank = static_cast<std::int64_t>(operation.pads.size());
  // As PyTorch computes: in single precision, except for double.
  const cudnnDataType_t compute = is_double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  const auto mode = static_cast<cudnnConvolutionMode_t>(operation.mode);
  const auto& post_pads = operation.post_pads.empty() ? operation.pads : operation.post_pads;
  const struct {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    std::int64_t count;
    const void* values;
  } settings[] = {
      {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &rank},
      {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute},
      {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode},
      {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, rank, operation.pads.data()},
      {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, rank, post_pads.data()},
      {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, rank, operation.strides.data()},
      {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, rank, operation.dilations.data()},
  };
  for (const auto& setting : settings) {
    auto done = Set(convolution_, setting.name, setting.type, setting.count, setting.values);
    if (!done) return done;
  }
  auto done = Finish(convolution_, "describing the convolution");
  return done ? DescribeFilter(operation, is_double) : done;
}

Result<void> ConvolutionCall::DescribeFilter(const kernel::DnnOperation& operation,
                                             bool is_double) {
  const Form& form = *FormOf(operation.kind);
  auto made = Make(form.kind);
  if (!made) return std::unexpected(made.error());
  operation_ = std::move(*made);
  auto done = Refer(operation_, form.descriptor, convolution_);
  for (std::size_t i = 0; done && i < tensors_.size(); ++i) {
    done = Refer(operation_, form.tensors[i], tensors_[i]);
  }
  const float alpha = 1, beta = 0;
  const double wide_alpha = 1, wide_beta = 0;
  const auto type = is_double ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  const auto pick = [&](const float& narrow, const double& wide) {
    return is_double ? static_cast<const void*>(&wide) : &narrow;
  };
  if (done) done = Set(operation_, form.alpha, type, 1, pick(alpha, wide_alpha));
  if (done) done = Set(operation_, form.beta, type, 1, pick(beta, wide_beta));
  if (done) done = Finish(operation_, "describing the convolution");
  if (!done) return done;
  made = Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  graph_ = std::move(*made);
  const cudnnHandle_t handle = cudnn_.handle();
  done = Set(graph_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  if (done) done = Refer(graph_, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_);
  return done ? Finish(graph_, "making the graph") : done;
}

Result<void> ConvolutionCall::Choose(CUstream stream) {
  auto chosen = ChooseBy(CUDNN_HEUR_MODE_INSTANT, stream);
  if (!chosen && chosen.error().code == ErrorCode::kNotFound) {
    chosen = ChooseBy(CUDNN_HEUR_MODE_FALLBACK, stream);
  }
  if (!chosen && chosen.error().code == ErrorCode::kNotFound) {
    return base::Fail(ErrorCode::kUnsupported, "cuDNN has no engine for this convolution");
  }
  return chosen ? Bind() : chosen;
}

Result<void> ConvolutionCall::ChooseBy(cudnnBackendHeurMode_t mode, CUstream stream) {
  auto heuristic = Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  if (!heuristic) return std::unexpected(heuristic.error());
  auto done = Refer(*heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
  if (done) done = Set(*heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (!done) return done;
  const auto none = base::Fail(ErrorCode::kNotFound, "no engine");
  if (!Finish(*heuristic, "asking the heuristic")) return none;
  std::vector<DnnDescriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < kEnginesMax; ++i) {
    auto made = Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!made) return std::unexpected(made.error());
    configurations.push_back(std::move(*made));
    raw.push_back(configurations.back().get());
  }
  std::int64_t count = 0;
  done = CheckDnn(cudnn_.cudnnBackendGetAttribute(heuristic->get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, kEnginesMax,
                                                  &count, raw.data()),
                  "asking the heuristic");
  if (!done) return none;
  for (std::int64_t i = 0; i < std::min(count, kEnginesMax); ++i) {
    DnnDescriptor& configuration = configurations[static_cast<std::size_t>(i)];
    if (!PlanFor(configuration, stream)) continue;
    configuration_ = std::move(configuration);
    return {};
  }
  return none;
}

Result<void> ConvolutionCall::PlanFor(const DnnDescriptor& configuration, CUstream stream) {
  auto made = Make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  const cudnnHandle_t handle = cudnn_.handle();
  auto done = Set(*made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  if (done) done = Refer(*made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (done) done = Finish(*made, "making a plan");
  std::int64_t bytes = 0, count = 0;
  if (done) {
    done = CheckDnn(
        cudnn_.cudnnBackendGetAttribute(made->get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                        CUDNN_TYPE_INT64, 1, &count, &bytes),
        "asking for the workspace's size");
  }
  if (!done) return done;
  if (bytes < 0) return base::Fail(ErrorCode::kInternal, "a workspace of less than nothing");
  auto workspace =
      Operand::Make(cudnn_.driver(), CUDA_R_8U, static_cast<std::uint64_t>(bytes), stream);
  if (!workspace) return std::unexpected(workspace.error());
  workspace_ = std::move(*workspace);
  plan_ = std::move(*made);
  return {};
}

Result<void> ConvolutionCall::Bind() {
  auto made = Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  pack_ = std::move(*made);
  std::array<void*, 3> pointers{};
  for (std::size_t i = 0; i < pointers.size(); ++i) pointers[i] = operands_[i].pointer();
  void* workspace = workspace_.pointer();
  auto done = Set(pack_, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, uids_.data());
  if (done) {
    done =
        Set(pack_, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers.data());
  }
  if (done) {
    done = Set(pack_, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  }
  return done ? Finish(pack_, "binding tensors") : done;
}

Result<void> ConvolutionCall::Enqueue(CUstream stream) {
  auto done = CheckDnn(cudnn_.cudnnSetStream(cudnn_.handle(), stream), "choosing the stream");
  if (!done) return done;
  return CheckDnn(cudnn_.cudnnBackendExecute(cudnn_.handle(), plan_.get(), pack_.get()),
                  "running the convolution");
}

}  // namespace eidolon::timing::replay
