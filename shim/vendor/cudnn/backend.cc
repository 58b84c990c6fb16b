// The backend is a store of attributes: a program describes tensors and operations, asks for
// engines, and builds a plan. All of it is kept and given back, and only three things are
// interpreted: finalizing a plan describes the graph as one work, executing submits it, and
// questions about engines are answered from the kinds of operations. Which engine runs changes one
// thing, whether single precision may use tensor cores: convolutions have a second engine without
// them. Graphs with GEMMs accept engine numbers below 32, because programs keep the number that the
// real library gave them.
//
// Values that a program passes at execution (sequence lengths of an attention) are copied into the
// definition, since they change the time.
#include "shim/vendor/cudnn/backend.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "services/contract/workload/work.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/cudnn/node.h"
#include "shim/vendor/cudnn/plan.h"
#include "shim/vendor/library/opaque.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cudnn::backend {
namespace {

using NodePointer = std::shared_ptr<Node>;

// Handle that a program holds: a reference to a node.
struct Descriptor : library::Opaque<Descriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e64657331u;
  NodePointer node = std::make_shared<Node>();
};

Node* FindNode(cudnnBackendDescriptor_t handle) {
  const Descriptor* descriptor = Descriptor::Find(handle);
  return descriptor == nullptr ? nullptr : descriptor->node.get();
}

template <typename T>
Attribute PlainAttribute(cudnnBackendAttributeType_t type, std::initializer_list<T> values) {
  Attribute attribute;
  attribute.type = type;
  for (const T value : values) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    attribute.bytes.insert(attribute.bytes.end(), bytes, bytes + sizeof(T));
  }
  return attribute;
}

bool IsConvolutionOfSinglePrecision(const Node& operation) {
  cudnnBackendAttributeName_t filter = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W;
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      filter = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W;
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      filter = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW;
      break;
    default:
      return false;
  }
  const Node* tensor = operation.FindNode(filter);
  return tensor != nullptr && tensor->Get<std::int32_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, 0,
                                                        CUDNN_DATA_HALF) == CUDNN_DATA_FLOAT;
}

// The engines of a graph: one on tensor cores, and for convolutions of single precision, whose
// program may forbid TF32, one without them (PyTorch leaves out engines with that numerical note).
constexpr std::int64_t kTensorCoreEngine = 0, kPlainEngine = workload::kPlainDnnEngine;

bool HasPlainEngine(const Node& graph) {
  const Attribute* operations = graph.Find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  return operations != nullptr && !operations->nodes.empty() &&
         std::ranges::all_of(operations->nodes, [](const NodePointer& operation) {
           return IsConvolutionOfSinglePrecision(*operation);
         });
}

// Number of engines of graphs with GEMMs, of which attention consists.
constexpr std::int64_t kGemmEngines = 32;

bool HasGemms(const Node& graph) {
  const Attribute* operations = graph.Find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  return operations != nullptr &&
         std::ranges::any_of(operations->nodes, [](const NodePointer& operation) {
           return operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR ||
                  operation->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR ||
                  operation->type == CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR;
         });
}

std::int64_t EnginesOf(const Node& graph) {
  return HasGemms(graph) ? kGemmEngines : HasPlainEngine(graph) ? 2 : 1;
}

bool IsKnownEngine(const Node& engine) {
  const auto index = engine.Get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0, 0);
  if (index == kTensorCoreEngine) return true;
  const Node* graph = engine.FindNode(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  return index > 0 && graph != nullptr && index < EnginesOf(*graph);
}

// Returns the engine of what is described to the timing service. Other indices than that of
// convolutions without tensor cores stand for engines with them.
std::int64_t EngineOfPlan(const Node& graph, const Node& engine) {
  const auto index = engine.Get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0, 0);
  return index == kPlainEngine && !HasPlainEngine(graph) ? kTensorCoreEngine : index;
}

NodePointer MakeConfiguration(const NodePointer& graph, std::int64_t index) {
  auto engine = std::make_shared<Node>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  engine->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {
      .type = CUDNN_TYPE_BACKEND_DESCRIPTOR, .bytes = {}, .nodes = {graph}};
  engine->attributes[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] =
      PlainAttribute<std::int64_t>(CUDNN_TYPE_INT64, {index});
  engine->finalized = true;
  auto configuration = std::make_shared<Node>();
  configuration->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  configuration->attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = {
      .type = CUDNN_TYPE_BACKEND_DESCRIPTOR, .bytes = {}, .nodes = {engine}};
  configuration->finalized = true;
  return configuration;
}

cudnnStatus_t FinalizePlan(Node& node) {
  const Node* configuration = node.FindNode(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Node* engine =
      configuration == nullptr ? nullptr : configuration->FindNode(CUDNN_ATTR_ENGINECFG_ENGINE);
  const Node* graph =
      engine == nullptr ? nullptr : engine->FindNode(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (graph == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the plan's configuration leads to no operation graph");
  }
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  node.plan = MakePlan(*graph, EngineOfPlan(*graph, *engine), &status);
  return status;
}

// Returns what follows from stored attributes instead of being stored.
bool Compute(const Node& node, cudnnBackendAttributeName_t name, Attribute* result) {
  switch (name) {
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      *result = PlainAttribute<std::int64_t>(CUDNN_TYPE_INT64, {EnginesOf(node)});
      return true;
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      const Attribute* graph = node.Find(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      if (graph == nullptr || graph->nodes.empty()) return false;
      result->type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
      result->nodes = {MakeConfiguration(graph->nodes[0], kTensorCoreEngine)};
      if (HasPlainEngine(*graph->nodes[0])) {
        result->nodes.push_back(MakeConfiguration(graph->nodes[0], kPlainEngine));
      }
      return true;
    }
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      const Node* graph = node.FindNode(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
      result->type = CUDNN_TYPE_NUMERICAL_NOTE;
      if (graph == nullptr || EngineOfPlan(*graph, node) != kPlainEngine) {
        *result = PlainAttribute<std::int32_t>(CUDNN_TYPE_NUMERICAL_NOTE,
                                               {CUDNN_NUMERICAL_NOTE_TENSOR_CORE});
      }
      return true;
    }
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      result->type = CUDNN_TYPE_BEHAVIOR_NOTE;
      return true;
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
    case CUDNN_ATTR_ENGINE_LAYOUT_INFO:
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
    case CUDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO:
      result->type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
      return true;
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
      *result = PlainAttribute<std::int64_t>(CUDNN_TYPE_INT64, {0});
      return true;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      if (node.plan == nullptr) return false;
      *result = PlainAttribute<std::int64_t>(CUDNN_TYPE_INT64, {node.plan->workspace_bytes});
      return true;
    case CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS:
      result->type = CUDNN_TYPE_INT64;
      return true;
    case CUDNN_ATTR_KERNEL_CACHE_IS_ENGINECFG_KERNEL_CACHED:
      *result = PlainAttribute<bool>(CUDNN_TYPE_BOOLEAN, {false});
      return true;
    default:
      return false;
  }
}

// The program made descriptors for the answer; they now refer to the found nodes.
cudnnStatus_t FillDescriptors(const Attribute& attribute, std::int64_t requested, void* elements) {
  auto* handles = static_cast<cudnnBackendDescriptor_t*>(elements);
  const auto given = std::min<std::int64_t>(requested, attribute.count());
  for (std::int64_t i = 0; i < given; ++i) {
    Descriptor* target = Descriptor::Find(handles[i]);
    const NodePointer& source = attribute.nodes[static_cast<std::size_t>(i)];
    if (target == nullptr || target->node->type != source->type) {
      return Fail(CUDNN_STATUS_BAD_PARAM,
                  "a descriptor for the answer is missing or of another type");
    }
    target->node = source;
  }
  return CUDNN_STATUS_SUCCESS;
}

// Returns the pack's pointer for a tensor; nullptr when it does not name it.
void* PointerOf(const Node& pack, std::int64_t uid) {
  const Attribute* uids = pack.Find(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  for (std::size_t i = 0; i < static_cast<std::size_t>(uids->count()); ++i) {
    if (pack.Get<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i, 0) == uid) {
      return pack.Get<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, i, nullptr);
    }
  }
  return nullptr;
}

// The definition with what the program passes by value now.
std::vector<std::byte> DefinitionOf(const Plan& plan, const Node& pack) {
  std::vector<std::byte> definition = plan.definition;
  for (const ValueSlot& slot : plan.values) {
    if (const void* value = PointerOf(pack, slot.uid)) {
      std::memcpy(definition.data() + slot.offset, value, sizeof(std::int32_t));
    }
  }
  return definition;
}

void ForgetOutputs(const Plan& plan, const Node& pack, cudaStream_t stream) {
  library::NameWriter("cudnn.graph");
  for (const Plan::Output& output : plan.outputs) {
    if (void* written = PointerOf(pack, output.uid)) {
      library::NoteWritten(stream, written, output.bytes);
    }
  }
}

}  // namespace

cudnnStatus_t CreateDescriptor(cudnnBackendDescriptorType_t type,
                               cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (type < 0 || type > CUDNN_BACKEND_OPERATION_ROPE_BWD_DESCRIPTOR) {
    return Fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "unknown descriptor type");
  }
  Descriptor::Make(descriptor)->node->type = type;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t DestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return Descriptor::Destroy(descriptor) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t Finalize(cudnnBackendDescriptor_t descriptor) {
  Node* node = FindNode(descriptor);
  if (node == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "not a backend descriptor");
  for (const cudnnBackendAttributeName_t name : RequiredAttributes(node->type)) {
    if (node->Find(name) == nullptr) {
      return Fail(CUDNN_STATUS_BAD_PARAM, "an attribute that the descriptor needs is not set");
    }
  }
  if (node->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    if (const auto status = FinalizePlan(*node); status != CUDNN_STATUS_SUCCESS) return status;
  }
  if (node->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && !IsKnownEngine(*node)) {
    return Fail(CUDNN_STATUS_NOT_SUPPORTED,
                "engines are 0, 1 for convolutions of single precision, and below 32 for GEMMs");
  }
  node->finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, std::int64_t count,
                           const void* elements) {
  Node* node = FindNode(descriptor);
  if (node == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "not a backend descriptor");
  if (node->finalized) return Fail(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is finalized");
  if (OwnerOf(name) != node->type) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the attribute belongs to another descriptor type");
  }
  const std::size_t width = ElementBytes(type);
  if (width == 0) return Fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "unknown attribute type");
  if (count < 0 || (count > 0 && elements == nullptr)) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no elements were given");
  }
  Attribute attribute;
  attribute.type = type;
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* bytes = static_cast<const std::byte*>(elements);
    attribute.bytes.assign(bytes, bytes + static_cast<std::size_t>(count) * width);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      const Descriptor* other =
          Descriptor::Find(static_cast<const cudnnBackendDescriptor_t*>(elements)[i]);
      if (other == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "not a backend descriptor");
      if (!other->node->finalized) {
        return Fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the inner descriptor is not finalized");
      }
      attribute.nodes.push_back(other->node);
    }
  }
  node->attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t GetAttribute(const cudnnBackendDescriptor_t descriptor,
                           cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                           std::int64_t requested, std::int64_t* count, void* elements) {
  const Node* node = FindNode(descriptor);
  if (node == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "not a backend descriptor");
  if (!node->finalized)
    return Fail(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is not finalized");
  if (OwnerOf(name) != node->type) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the attribute belongs to another descriptor type");
  }
  Attribute computed;
  const Attribute* attribute = node->Find(name);
  if (attribute == nullptr && Compute(*node, name, &computed)) attribute = &computed;
  if (attribute == nullptr) return Fail(CUDNN_STATUS_NOT_SUPPORTED, "the attribute is not known");
  if (attribute->type != type) {
    return Fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type");
  }
  if (count != nullptr) *count = attribute->count();
  if (requested <= 0 || elements == nullptr) return CUDNN_STATUS_SUCCESS;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    // The count is the requested one: cudnn-frontend takes it for those that it got.
    if (count != nullptr) *count = std::min(requested, attribute->count());
    return FillDescriptors(*attribute, requested, elements);
  }
  const std::size_t wanted = static_cast<std::size_t>(requested) * ElementBytes(type);
  if (!attribute->bytes.empty()) {
    std::memcpy(elements, attribute->bytes.data(), std::min(wanted, attribute->bytes.size()));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                      cudnnBackendDescriptor_t pack_handle) {
  const Context* context = Context::Find(handle);
  const Node* plan = FindNode(plan_handle);
  const Node* pack = FindNode(pack_handle);
  if (context == nullptr || plan == nullptr || pack == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "not a handle, plan or variant pack");
  }
  if (plan->plan == nullptr || !pack->finalized) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the plan or the pack is not finalized");
  }
  if (pack->Find(CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES) != nullptr) {
    return Fail(CUDNN_STATUS_NOT_SUPPORTED, "shapes cannot be overridden at execution");
  }
  const gpu::Status status = plan->plan->values.empty()
                                 ? gpu::Submit(context->stream, plan->plan->definition)
                                 : gpu::Submit(context->stream, DefinitionOf(*plan->plan, *pack));
  if (status == gpu::Status::kSuccess) ForgetOutputs(*plan->plan, *pack, context->stream);
  return ToCudnn(status);
}

cudnnStatus_t GetPlanWorkspaceSize(cudnnHandle_t, cudnnBackendDescriptor_t plan_handle,
                                   cudnnBackendDescriptor_t, std::size_t* bytes) {
  const Node* plan = FindNode(plan_handle);
  if (plan == nullptr || bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (plan->plan == nullptr) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  *bytes = static_cast<std::size_t>(plan->plan->workspace_bytes);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace eidolon::shim::cudnn::backend
