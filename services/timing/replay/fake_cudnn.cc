// A cuDNN for tests of replay: backend descriptors keep what they are told, and a graph runs when
// its tensors, plan and memory fit together. Its memory and time are the fake driver's.
//
//   EIDOLON_FAKE_DNN="CALL:STATUS"   CALL (heuristic, plan, execute) answers STATUS; "first" as
//       status of plan: only the first engine's plan fails
//   EIDOLON_FAKE_DNN="value:NUMBER"   a graph runs only when the whole numbers that it gets by
//   value
//       are NUMBER
#include <cuda.h>
#include <cudnn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/contract/cudnn_numbers/attribute.h"

#define EIDOLON_FAKE extern "C" __attribute__((visibility("default"))) cudnnStatus_t

namespace {

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, std::string> values;
  std::map<int, cudnnBackendAttributeType_t> types;
  std::int64_t engine = -1;
  bool finished = false;
};

std::string Script(const std::string& call) {
  const char* text = std::getenv("EIDOLON_FAKE_DNN");
  const std::string script = text == nullptr ? "" : text;
  return script.starts_with(call + ":") ? script.substr(call.size() + 1) : "";
}

Descriptor& Of(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<Descriptor*>(descriptor);
}

template <typename T>
std::vector<T> Values(const Descriptor& of, cudnnBackendAttributeName_t name) {
  const auto found = of.values.find(name);
  std::vector<T> values(found == of.values.end() ? 0 : found->second.size() / sizeof(T));
  if (!values.empty()) {
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
  }
  return values;
}
const Descriptor* Child(const Descriptor& of, cudnnBackendAttributeName_t name) {
  const auto type = of.types.find(name);
  if (type == of.types.end() || type->second != CUDNN_TYPE_BACKEND_DESCRIPTOR) return nullptr;
  const auto found = Values<Descriptor*>(of, name);
  return found.empty() ? nullptr : found.front();
}

std::vector<Descriptor*> Children(const Descriptor& of) {
  std::vector<Descriptor*> children;
  for (const auto& [name, type] : of.types) {
    if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) continue;
    const auto some = Values<Descriptor*>(of, static_cast<cudnnBackendAttributeName_t>(name));
    children.insert(children.end(), some.begin(), some.end());
  }
  return children;
}

// All tensors that a descriptor leads to.
void Collect(const Descriptor& of, std::set<const Descriptor*>& seen,
             std::vector<const Descriptor*>& tensors) {
  if (!seen.insert(&of).second) return;
  if (of.type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) tensors.push_back(&of);
  for (const Descriptor* child : Children(of)) Collect(*child, seen, tensors);
}

// A convolution's tensors: x, w and y, whichever is written.
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
  const std::size_t rank = pre.size();
  for (const auto& sizes : dims) {
    if (sizes.size() != rank + 2) return false;
  }
  if (post.size() != rank || step.size() != rank || spread.size() != rank) return false;
  const auto& x = dims[0];
  const auto& w = dims[1];
  const auto& y = dims[2];
  if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0) return false;
  for (std::size_t i = 0; i < pre.size(); ++i) {
    const std::int64_t room = x[i + 2] + pre[i] + post[i] - spread[i] * (w[i + 2] - 1) - 1;
    if (room < 0 || step[i] <= 0 || room / step[i] + 1 != y[i + 2]) return false;
  }
  return true;
}

std::vector<std::int64_t> DimsOf(const Descriptor& operation, cudnnBackendAttributeName_t name) {
  const Descriptor* tensor = Child(operation, name);
  if (tensor == nullptr) return {};
  return Values<std::int64_t>(*tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
}

// Returns what descriptors need when they are finished; those not listed take anything.
bool IsGood(const Descriptor& of) {
  switch (of.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return Fits(of);
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR: {
      const auto x = DimsOf(of, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC);
      return !x.empty() && x == DimsOf(of, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC) &&
             Child(of, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC) != nullptr;
    }
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR: {
      const auto q = DimsOf(of, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC);
      return q.size() == 4 && q == DimsOf(of, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC);
    }
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return of.values.contains(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) &&
             Child(of, CUDNN_ATTR_OPERATIONGRAPH_OPS) != nullptr;
    default:
      return true;
  }
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

bool IsSet(const Descriptor& tensor, cudnnBackendAttributeName_t name) {
  const auto flags = Values<unsigned char>(tensor, name);
  return !flags.empty() && flags.front() != 0;
}

// Returns whether the pointer leads to what the tensor needs, on the GPU or by value.
bool IsMemory(const Descriptor& tensor, CUdeviceptr pointer) {
  if (!IsSet(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
    return cuMemsetD8Async(pointer, 0, BytesOf(tensor), nullptr) == CUDA_SUCCESS;
  }
  const auto type = Values<cudnnDataType_t>(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE).front();
  if (type == CUDNN_DATA_FLOAT) return *reinterpret_cast<const float*>(pointer) == 1.0f;
  const std::string wanted = Script("value");
  return wanted.empty() || *reinterpret_cast<const int*>(pointer) == std::atoi(wanted.c_str());
}

bool Runs(const Descriptor& plan, const Descriptor& pack) {
  const Descriptor* configuration = Child(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const auto uids = Values<std::int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = Values<CUdeviceptr>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto workspace = Values<CUdeviceptr>(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (cuMemsetD8Async(workspace.at(0), 0, kWorkspaceBytes, nullptr) != CUDA_SUCCESS) return false;
  std::set<const Descriptor*> seen;
  std::vector<const Descriptor*> tensors;
  Collect(*Child(*configuration, CUDNN_ATTR_ENGINECFG_ENGINE), seen, tensors);
  for (const Descriptor* tensor : tensors) {
    if (IsSet(*tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) continue;
    const std::int64_t uid = Values<std::int64_t>(*tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID).front();
    bool found = false;
    for (std::size_t i = 0; i < uids.size(); ++i) {
      found = found || (uids[i] == uid && IsMemory(*tensor, pointers.at(i)));
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
  *descriptor = new Descriptor{.type = type};
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
  Descriptor& of = Of(descriptor);
  of.types[name] = type;
  of.values[name].assign(
      static_cast<const char*>(values),
      eidolon::cudnn_numbers::ElementBytes(type) * static_cast<std::size_t>(count));
  return CUDNN_STATUS_SUCCESS;
}
EIDOLON_FAKE cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Descriptor& of = Of(descriptor);
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
  for (const Descriptor* child : Children(of)) {
    if (!child->finished && child->engine < 0) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  }
  of.finished = IsGood(of);
  return of.finished ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
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
  *count = 2;
  for (std::int64_t i = 0; i < *count; ++i) {
    Descriptor& configuration = Of(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
    configuration.engine = i;
    configuration.types[CUDNN_ATTR_ENGINECFG_ENGINE] = CUDNN_TYPE_BACKEND_DESCRIPTOR;
    configuration.values[CUDNN_ATTR_ENGINECFG_ENGINE].assign(reinterpret_cast<const char*>(&graph),
                                                             sizeof(graph));
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
