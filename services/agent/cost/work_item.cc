#include "services/agent/cost/work_item.h"

#include <algorithm>
#include <cstring>

#include "eidolon/timing/v1/timing.pb.h"
#include "services/base/check.h"
#include "services/contract/ring/replay.h"
#include "services/contract/workload/definition.h"
#include "services/contract/workload/dnn_nodes.h"
#include "services/contract/workload/wire/copy_kind_message.h"

namespace eidolon::agent::cost {

namespace v1 = timing::v1;
namespace wire = ::eidolon::ring;

namespace {

void FillDim(const workload::Dim3& from, v1::Dim3* to) {
  to->set_x(from.x);
  to->set_y(from.y);
  to->set_z(from.z);
}

void FillKernel(std::span<const std::byte> definition, v1::Kernel* kernel) {
  const auto work = workload::WorkOf<workload::Kernel>(definition);
  const workload::KernelTail tail = workload::KernelTailOf(definition);
  kernel->set_name(tail.name.data(), tail.name.size());
  if (work.module_hash[0] != 0 || work.module_hash[1] != 0) {
    kernel->set_module_hash(work.module_hash, sizeof(work.module_hash));
  }
  FillDim(work.grid, kernel->mutable_grid());
  FillDim(work.block, kernel->mutable_block());
  if (work.cluster.x != 0) FillDim(work.cluster, kernel->mutable_cluster());
  kernel->set_dynamic_shared_bytes(work.dynamic_shared_bytes);
  kernel->set_static_shared_bytes(work.static_shared_bytes);
  kernel->set_registers_per_thread(work.registers);
  kernel->set_blocks_per_multiprocessor(work.blocks_per_multiprocessor);
  kernel->set_cooperative(work.cooperative != 0);
  for (const workload::ParameterSlot slot : tail.slots) {
    v1::Parameter* parameter = kernel->add_parameters();
    parameter->set_offset(slot.offset);
    parameter->set_size_bytes(slot.bytes);
  }
  kernel->set_parameter_block(tail.parameters.data(), tail.parameters.size());
}

void FillDnnGraph(std::span<const std::byte> definition, v1::DnnGraph* graph) {
  const auto work = workload::WorkOf<workload::DnnGraph>(definition);
  const workload::DnnGraphTail tail = workload::DnnGraphTailOf(definition);
  graph->set_without_tensor_cores(work.engine == workload::kPlainDnnEngine);
  for (const workload::DnnTensor& from : tail.tensors) {
    v1::DnnTensor* to = graph->add_tensors();
    to->set_uid(from.uid);
    to->mutable_dims()->Add(from.dims, from.dims + from.rank);
    to->mutable_strides()->Add(from.strides, from.strides + from.rank);
    to->set_type(from.type);
    to->set_is_virtual(from.is_virtual != 0);
  }
  for (const workload::DnnOperation& from : tail.operations) {
    v1::DnnOperation* to = graph->add_operations();
    to->set_kind(from.kind);
    to->set_mode(from.mode);
    to->set_phase(from.phase);
    to->mutable_inputs()->Add(from.inputs, from.inputs + from.input_count);
    to->mutable_outputs()->Add(from.outputs, from.outputs + from.output_count);
    const auto rank = from.convolution_rank;
    to->mutable_pads()->Add(from.pads, from.pads + rank);
    if (!std::equal(from.pads, from.pads + rank, from.post_pads)) {
      to->mutable_post_pads()->Add(from.post_pads, from.post_pads + rank);
    }
    to->mutable_strides()->Add(from.conv_strides, from.conv_strides + rank);
    to->mutable_dilations()->Add(from.dilations, from.dilations + rank);
  }
  const auto nodes = workload::ReadDnnNodes(tail.nodes);
  CHECK(nodes.has_value());
  for (const workload::DnnNode& from : *nodes) {
    v1::DnnNode* to = graph->add_nodes();
    to->set_type(from.type);
    for (const workload::DnnAttribute& attribute : from.attributes) {
      v1::DnnAttribute* entry = to->add_attributes();
      entry->set_name(attribute.name);
      entry->set_type(attribute.type);
      entry->set_elements(attribute.elements.data(), attribute.elements.size());
      entry->mutable_nodes()->Add(attribute.nodes.begin(), attribute.nodes.end());
    }
  }
}

void FillCopy(const workload::Copy& work, v1::Copy* copy) {
  copy->set_kind(workload::wire::ToMessage(work.kind));
  copy->set_size_bytes(work.bytes);
  copy->set_row_bytes(work.row_bytes);
  copy->set_pinned(work.pinned != 0);
}

void FillLibrary(std::span<const std::byte> definition, v1::LibraryCall* call) {
  const auto work = workload::WorkOf<workload::Library>(definition);
  const workload::LibraryTail tail = workload::LibraryTailOf(definition);
  call->set_name(tail.name.data(), tail.name.size());
  call->set_flops(work.flops);
  call->set_memory_bytes(work.memory_bytes);
  call->set_type(work.type);
  call->mutable_numbers()->Add(tail.numbers.begin(), tail.numbers.end());
}

}  // namespace

bool FillReplay(std::span<const std::byte> context, v1::Replay* replay) {
  wire::ReplayContext head;
  if (context.size() < sizeof(head)) return false;
  std::memcpy(&head, context.data(), sizeof(head));
  const std::uint64_t padded = (std::uint64_t{head.parameter_bytes} + 7) & ~std::uint64_t{7};
  const std::uint64_t needed =
      sizeof(head) + padded + std::uint64_t{head.range_count} * sizeof(wire::ReplayRange);
  if (head.magic != wire::kReplayMagic || needed > context.size()) return false;
  const std::byte* at = context.data() + sizeof(head);
  replay->set_parameters(at, head.parameter_bytes);
  at += padded;
  for (std::uint32_t i = 0; i < head.range_count; ++i, at += sizeof(wire::ReplayRange)) {
    wire::ReplayRange from;
    std::memcpy(&from, at, sizeof(from));
    v1::Range* to = replay->add_allocations();
    to->set_begin(from.begin);
    to->set_size_bytes(from.bytes);
  }
  return true;
}

void FillWorkItem(std::span<const std::byte> definition, v1::WorkItem* item) {
  switch (workload::KindOf(definition)) {
    case workload::WorkKind::kKernel:
      return FillKernel(definition, item->mutable_kernel());
    case workload::WorkKind::kGemm:
      return item->set_definition(definition.data(), definition.size());
    case workload::WorkKind::kDnnGraph:
      return FillDnnGraph(definition, item->mutable_dnn_graph());
    case workload::WorkKind::kCopy:
    case workload::WorkKind::kMemset:
      return FillCopy(workload::WorkOf<workload::Copy>(definition), item->mutable_copy());
    case workload::WorkKind::kLibrary:
      return FillLibrary(definition, item->mutable_library());
  }
  CHECK(false);
}

}  // namespace eidolon::agent::cost
