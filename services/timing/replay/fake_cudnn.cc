// A cuDNN for tests of replay: backend descriptors keep what they are told, and a convolution runs
// when its tensors, plan and memory fit together. Its memory and time are the fake driver's.
//
//   EIDOLON_FAKE_DNN="CALL:STATUS"   CALL (heuristic, plan, execute) answers STATUS; "first" as
//       status of plan: only the first engine's plan fails
#include <cuda.h>
#include <cudnn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define EIDOLON_FAKE extern "C" __attribute__((visibility("default"))) cudnnStatus_t

namespace {

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, std::string> values;
  std::int64_t engine = -1;
};

std::string Script(const std::string& call) {
  const char* text = std::getenv("EIDOLON_FAKE_DNN");
  const std::string script = text == nullptr ? "" : text;
  return script.starts_with(call + ":") ? script.substr(call.size() + 1) : "";
}

std::size_t WidthOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;
  }
}

Descriptor& Of(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<Descriptor*>(descriptor);
}

template <typename T>
std::vector<T> Values(const Descriptor& of, cudnnBackendAttributeName_t name) {
  const auto found = of.values.find(name);
  std::vector<T> values(found == of.values.end() ? 0 : found->second.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), found->second.data(), found->second.size());
  return values;
}
const Descriptor* Child(const Descriptor& of, cudnnBackendAttributeName_t name) {
  const auto found = Values<Descriptor*>(of, name);
  return found.empty() ? nullptr : found.front();
}

// The operation's tensors: x, w and y, whichever is written.
std::vector<const Descriptor*> TensorsOf(const Descriptor& operation) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X),
              Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
              Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y)};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX),
              Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
              Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY)};
    default:
      return {Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X),
              Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW),
              Child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY)};
  }
}

const Descriptor* ConvolutionOf(const Descriptor& operation) {
  for (const auto name : {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC}) {
    if (const Descriptor* found = Child(operation, name)) return found;
  }
  return nullptr;
}

// Every output pixel has its window: the sizes follow from each other.
bool Fits(const Descriptor& operation) {
  const auto tensors = TensorsOf(operation);
  const Descriptor* convolution = ConvolutionOf(operation);
  if (convolution == nullptr) return false;
  std::vector<std::vector<std::int64_t>> dims;
  for (const Descriptor* tensor : tensors) {
    if (tensor == nullptr) return false;
    dims.push_back(Values<std::int64_t>(*tensor, CUDNN_ATTR_TENSOR_DIMENSIONS));
  }
  const auto pre = Values<std::int64_t>(*convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto post = Values<std::int64_t>(*convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  const auto step = Values<std::int64_t>(*convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto spread = Values<std::int64_t>(*convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const auto& x = dims[0];
  const auto& w = dims[1];
  const auto& y = dims[2];
  if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0) return false;
  for (std::size_t i = 0; i < pre.size(); ++i) {
    const std::int64_t room = x[i + 2] + pre[i] + post[i] - spread[i] * (w[i + 2] - 1) - 1;
    if (room < 0 || room / step[i] + 1 != y[i + 2]) return false;
  }
  return true;
}

std::uint64_t BytesOf(const Descriptor& tensor) {
  const auto dims = Values<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = Values<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_STRIDES);
  const auto type = Values<cudnnDataType_t>(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE).front();
  std::int64_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  const std::uint64_t width = type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
  return (static_cast<std::uint64_t>(last) + 1) * width;
}

constexpr std::int64_t kWorkspaceBytes = 1 << 20;

bool Runs(const Descriptor& plan, const Descriptor& pack) {
  const Descriptor* configuration = Child(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Descriptor* operation = reinterpret_cast<const Descriptor*>(
      Values<std::int64_t>(*configuration, CUDNN_ATTR_ENGINECFG_ENGINE).front());
  const auto uids = Values<std::int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = Values<CUdeviceptr>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto workspace = Values<CUdeviceptr>(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto is_memory = [](CUdeviceptr begin, std::uint64_t bytes) {
    return cuMemsetD8Async(begin, 0, bytes, nullptr) == CUDA_SUCCESS;
  };
  if (!is_memory(workspace.at(0), kWorkspaceBytes)) return false;
  for (const Descriptor* tensor : TensorsOf(*operation)) {
    const std::int64_t uid = Values<std::int64_t>(*tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID).front();
    bool found = false;
    for (std::size_t i = 0; i < uids.size(); ++i) {
      found = found || (uids[i] == uid && is_memory(pointers.at(i), BytesOf(*tensor)));
    }
    if (!found) return false;
  }
  return true;
}

}  // namespace

EIDOLON_FAKE cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(1);
  return CUDNN_STATUS_SUCCESS;
}
EIDOLON_FAKE cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
extern "C" __attribute__((visibility("default"))) std::size_t cudnnGetVersion() { return 92001; }
EIDOLON_FAKE cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
EIDOLON_FAKE cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                          cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Descriptor{type, {}};
  return CUDNN_STATUS_SUCCESS;
}
EIDOLON_FAKE cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &Of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
EIDOLON_FAKE cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                      cudnnBackendAttributeName_t name,
                                      cudnnBackendAttributeType_t type, std::int64_t count,
                                      const void* values) {
  Of(descriptor)
      .values[name]
      .assign(static_cast<const char*>(values), WidthOf(type) * static_cast<std::size_t>(count));
  return CUDNN_STATUS_SUCCESS;
}
EIDOLON_FAKE cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  const Descriptor& of = Of(descriptor);
  if (of.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    const int status = std::atoi(Script("heuristic").c_str());
    if (status != 0) return static_cast<cudnnStatus_t>(status);
  }
  if (of.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const std::string script = Script("plan");
    const Descriptor* configuration = Child(of, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    if (script == "first" && configuration->engine == 0) return CUDNN_STATUS_NOT_SUPPORTED;
    if (const int status = std::atoi(script.c_str()); status != 0) {
      return static_cast<cudnnStatus_t>(status);
    }
  }
  const bool operation = of.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
                         of.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
                         of.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
  return !operation || Fits(of) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
EIDOLON_FAKE cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                      cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                                      std::int64_t, std::int64_t* count, void* values) {
  const Descriptor& of = Of(descriptor);
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *count = 1;
    std::memcpy(values, &kWorkspaceBytes, sizeof(kWorkspaceBytes));
    return CUDNN_STATUS_SUCCESS;
  }
  if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS) return CUDNN_STATUS_BAD_PARAM;
  const Descriptor* graph = Child(of, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const Descriptor* operation = Child(*graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  *count = 2;
  for (std::int64_t i = 0; i < *count; ++i) {
    Descriptor& configuration = Of(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
    configuration.engine = i;
    configuration.values[CUDNN_ATTR_ENGINECFG_ENGINE].assign(
        reinterpret_cast<const char*>(&operation), sizeof(operation));
  }
  return CUDNN_STATUS_SUCCESS;
}
EIDOLON_FAKE cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                 cudnnBackendDescriptor_t pack) {
  if (const int status = std::atoi(Script("execute").c_str()); status != 0) {
    return static_cast<cudnnStatus_t>(status);
  }
  return Runs(Of(plan), Of(pack)) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
