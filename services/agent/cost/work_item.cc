#include "services/agent/cost/work_item.h"

#include <algorithm>
#include <cstring>

#include "eidolon/timing/v1/timing.pb.h"
#include "services/agent/ring/definition.h"
#include "services/agent/ring/dnn_nodes.h"
#include "services/base/check.h"
#include "services/contract/ring/replay.h"
#include "services/contract/workload/wire/copy_kind_message.h"

namespace eidolon::agent::cost {

namespace v1 = timing::v1;
namespace wire = ::eidolon::ring;

namespace {

void FillDim(const wire::Dim3& from, v1::Dim3* to) {
  to->set_x(from.x);
  to->set_y(from.y);
  to->set_z(from.z);
}

void FillKernel(const wire::KernelWork& work, v1::Kernel* kernel) {
  const ring::KernelTail tail = ring::TailOf(work);
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
  for (std::size_t at = 0; at < tail.slots.size(); at += sizeof(wire::ParameterSlot)) {
    wire::ParameterSlot slot;
    std::memcpy(&slot, tail.slots.data() + at, sizeof(slot));
    v1::Parameter* parameter = kernel->add_parameters();
    parameter->set_offset(slot.offset);
    parameter->set_size_bytes(slot.bytes);
  }
  kernel->set_parameter_block(tail.parameters.data(), tail.parameters.size());
}

void FillGemm(const wire::GemmWork& work, v1::Gemm* gemm) {
  gemm->set_m(work.m);
  gemm->set_n(work.n);
  gemm->set_k(work.k);
  gemm->set_batch(work.batch);
  gemm->set_type_a(work.type_a);
  gemm->set_type_b(work.type_b);
  gemm->set_type_c(work.type_c);
  gemm->set_type_d(work.type_d);
  gemm->set_compute_type(work.compute_type);
  gemm->set_transpose_a(work.transpose_a != 0);
  gemm->set_transpose_b(work.transpose_b != 0);
  gemm->set_lda(work.lda);
  gemm->set_ldb(work.ldb);
  gemm->set_ldc(work.ldc);
  gemm->set_ldd(work.ldd);
  gemm->set_epilogue(static_cast<std::uint32_t>(work.epilogue));
  gemm->set_beta_zero(work.beta_zero != 0);
  gemm->set_scale_mode(work.scale_mode);
  gemm->set_pointer_array(work.pointer_array != 0);
  gemm->set_fast_accumulation(work.fast_accumulation != 0);
}

void FillDnnGraph(const wire::DnnGraphWork& work, v1::DnnGraph* graph) {
  const ring::DnnGraphTail tail = ring::TailOf(work);
  graph->set_without_tensor_cores(work.engine == wire::kPlainDnnEngine);
  for (const wire::DnnTensor& from : tail.tensors) {
    v1::DnnTensor* to = graph->add_tensors();
    to->set_uid(from.uid);
    to->mutable_dims()->Add(from.dims, from.dims + from.rank);
    to->mutable_strides()->Add(from.strides, from.strides + from.rank);
    to->set_type(from.type);
    to->set_is_virtual(from.is_virtual != 0);
  }
  for (const wire::DnnOperation& from : tail.operations) {
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
  const auto nodes = ring::ReadDnnNodes(tail.nodes);
  CHECK(nodes.has_value());
  for (const ring::DnnNodeView& from : *nodes) {
    v1::DnnNode* to = graph->add_nodes();
    to->set_type(from.type);
    for (const ring::DnnAttributeView& attribute : from.attributes) {
      v1::DnnAttribute* entry = to->add_attributes();
      entry->set_name(attribute.name);
      entry->set_type(attribute.type);
      entry->set_elements(attribute.elements.data(), attribute.elements.size());
      entry->mutable_nodes()->Add(attribute.references.begin(), attribute.references.end());
    }
  }
}

void FillCopy(const wire::CopyWork& work, v1::Copy* copy) {
  copy->set_kind(workload::wire::ToMessage(work.kind));
  copy->set_size_bytes(work.bytes);
  copy->set_row_bytes(work.row_bytes);
  copy->set_pinned(work.pinned != 0);
}

void FillLibrary(const wire::LibraryWork& work, v1::LibraryCall* call) {
  const ring::LibraryTail tail = ring::TailOf(work);
  call->set_name(tail.name.data(), tail.name.size());
  call->set_flops(work.flops);
  call->set_memory_bytes(work.memory_bytes);
  call->set_type(work.type);
  for (std::size_t at = 0; at < tail.numbers.size(); at += sizeof(std::int64_t)) {
    std::int64_t number;
    std::memcpy(&number, tail.numbers.data() + at, sizeof(number));
    call->add_numbers(number);
  }
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
  switch (ring::KindOf(definition)) {
    case wire::WorkKind::kKernel:
      return FillKernel(ring::WorkOf<wire::KernelWork>(definition), item->mutable_kernel());
    case wire::WorkKind::kGemm:
      return FillGemm(ring::WorkOf<wire::GemmWork>(definition), item->mutable_gemm());
    case wire::WorkKind::kDnnGraph:
      return FillDnnGraph(ring::WorkOf<wire::DnnGraphWork>(definition), item->mutable_dnn_graph());
    case wire::WorkKind::kCopy:
    case wire::WorkKind::kMemset:
      return FillCopy(ring::WorkOf<wire::CopyWork>(definition), item->mutable_copy());
    case wire::WorkKind::kLibrary:
      return FillLibrary(ring::WorkOf<wire::LibraryWork>(definition), item->mutable_library());
  }
  CHECK(false);
}

}  // namespace eidolon::agent::cost
