#include "services/timing/work_messages.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "services/base/text.h"
#include "services/contract/estimate/wire/source_message.h"
#include "services/contract/workload/definition.h"
#include "services/contract/workload/wire/copy_kind_message.h"

namespace eidolon::timing {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;

constexpr std::size_t kNameBytesMax = 64 * 1024;
constexpr std::size_t kParameterBytesMax = 64 * 1024;
constexpr int kTensorsMax = 1024;
constexpr int kDimsMax = 16;
constexpr int kNodesMax = 8192;
constexpr std::size_t kGraphBytesMax = 4 << 20;

kernel::Dim3 ToDim3(const v1::Dim3& message) {
  return {std::max(message.x(), 1u), std::max(message.y(), 1u), std::max(message.z(), 1u)};
}

std::vector<std::int64_t> ToVector(const google::protobuf::RepeatedField<std::int64_t>& field) {
  return {field.begin(), field.end()};
}

std::uint64_t Whole(double count) {
  constexpr double kMost = 1e18;  // Fits; more than any GPU does in an hour.
  return static_cast<std::uint64_t>(std::clamp(count, 0.0, kMost));
}

Result<kernel::WorkItem> ToKernel(const v1::Kernel& message) {
  if (message.name().size() > kNameBytesMax) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("kernel: name is longer than ", kNameBytesMax));
  }
  if (message.parameter_block().size() > kParameterBytesMax ||
      static_cast<std::size_t>(message.parameters_size()) > kParameterBytesMax) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("kernel '", message.name().substr(0, 200),
                             "': parameters are longer than ", kParameterBytesMax));
  }
  kernel::KernelLaunch launch;
  launch.name = message.name();
  launch.module_hash = message.module_hash();
  launch.grid = ToDim3(message.grid());
  launch.block = ToDim3(message.block());
  launch.cluster = {message.cluster().x(), message.cluster().y(), message.cluster().z()};
  launch.dynamic_shared_bytes = message.dynamic_shared_bytes();
  launch.static_shared_bytes = message.static_shared_bytes();
  launch.registers = message.registers_per_thread();
  launch.blocks_per_multiprocessor = message.blocks_per_multiprocessor();
  launch.cooperative = message.cooperative();
  launch.slots.reserve(static_cast<std::size_t>(message.parameters_size()));
  for (const v1::Parameter& slot : message.parameters()) {
    launch.slots.push_back({slot.offset(), slot.size_bytes()});
  }
  launch.parameters = message.parameter_block();
  return launch;
}

Result<kernel::WorkItem> FromDefinition(std::string_view text) {
  const auto definition = std::as_bytes(std::span(text));
  if (auto sound = workload::CheckDefinition(definition); !sound) {
    return std::unexpected(sound.error());
  }
  return workload::WorkOf<kernel::Gemm>(definition);
}

Result<void> ReadNodes(const v1::DnnGraph& message, kernel::DnnGraph& graph) {
  if (message.nodes_size() > kNodesMax || message.ByteSizeLong() > kGraphBytesMax) {
    return base::Fail(ErrorCode::kInvalidArgument, StrCat("dnn_graph: more than ", kNodesMax,
                                                          " nodes or ", kGraphBytesMax, " bytes"));
  }
  for (const v1::DnnNode& from : message.nodes()) {
    kernel::DnnNode node{from.type(), {}};
    for (const v1::DnnAttribute& attribute : from.attributes()) {
      for (const std::uint32_t index : attribute.nodes()) {
        if (index < graph.nodes.size()) continue;
        return base::Fail(ErrorCode::kInvalidArgument,
                          StrCat("dnn_graph: node ", graph.nodes.size(), " refers to node ", index,
                                 ", which does not come before it"));
      }
      node.attributes.push_back({attribute.name(),
                                 attribute.type(),
                                 attribute.elements(),
                                 {attribute.nodes().begin(), attribute.nodes().end()}});
    }
    graph.nodes.push_back(std::move(node));
  }
  return {};
}

Result<kernel::WorkItem> ToGraph(const v1::DnnGraph& message) {
  if (message.tensors_size() > kTensorsMax || message.operations_size() > kTensorsMax) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("dnn_graph: more than ", kTensorsMax, " tensors or operations"));
  }
  kernel::DnnGraph graph;
  graph.without_tensor_cores = message.without_tensor_cores();
  for (const v1::DnnTensor& tensor : message.tensors()) {
    if (tensor.dims_size() > kDimsMax) {
      return base::Fail(ErrorCode::kInvalidArgument,
                        StrCat("dnn_graph: tensor ", tensor.uid(), " has ", tensor.dims_size(),
                               " dimensions, at most ", kDimsMax, " are allowed"));
    }
    graph.tensors.push_back({tensor.uid(), ToVector(tensor.dims()), ToVector(tensor.strides()),
                             tensor.type(), tensor.is_virtual()});
  }
  for (const v1::DnnOperation& op : message.operations()) {
    graph.operations.push_back({op.kind(), op.mode(), op.phase(), ToVector(op.inputs()),
                                ToVector(op.outputs()), ToVector(op.pads()), ToVector(op.strides()),
                                ToVector(op.dilations()), ToVector(op.post_pads())});
  }
  if (auto read = ReadNodes(message, graph); !read) return std::unexpected(read.error());
  return graph;
}

std::uint32_t Megahertz(std::uint64_t hertz) {
  return static_cast<std::uint32_t>((hertz + 500'000) / 1'000'000);
}

}  // namespace

Result<kernel::WorkItem> FromMessage(const v1::WorkItem& message) {
  switch (message.work_case()) {
    case v1::WorkItem::kKernel:
      return ToKernel(message.kernel());
    case v1::WorkItem::kDefinition:
      return FromDefinition(message.definition());
    case v1::WorkItem::kDnnGraph:
      return ToGraph(message.dnn_graph());
    case v1::WorkItem::kCopy: {
      const v1::Copy& copy = message.copy();
      return kernel::Copy{workload::wire::FromMessage(copy.kind()), copy.size_bytes(),
                          copy.row_bytes(), copy.pinned()};
    }
    case v1::WorkItem::kLibrary: {
      const v1::LibraryCall& call = message.library();
      return kernel::LibraryCall{call.name(), call.flops(), call.memory_bytes(), call.type(),
                                 ToVector(call.numbers())};
    }
    case v1::WorkItem::WORK_NOT_SET:
      break;
  }
  return base::Fail(ErrorCode::kInvalidArgument, "work is not set");
}

void ToMessage(const model::Estimate& estimate, common::v1::Estimate& message) {
  message.set_duration_picoseconds(
      static_cast<std::uint64_t>(std::max<std::int64_t>(estimate.duration.ps, 0)));
  message.set_source(estimate::wire::ToMessage(estimate.source));
  message.set_relative_error(static_cast<float>(estimate.relative_error));
  message.set_family(estimate.family.data(), estimate.family.size());
  const kernel::WorkCounts& counts = estimate.counts;
  if (counts.matrix_flops > 0) {
    message.mutable_counts()->set_matrix_flops(Whole(counts.matrix_flops));
  }
  if (counts.parameters + counts.gradients + counts.optimizer_state > 0) {
    message.mutable_counts()->set_parameter_bytes(Whole(counts.parameters));
    message.mutable_counts()->set_gradient_bytes(Whole(counts.gradients));
    message.mutable_counts()->set_optimizer_state_bytes(Whole(counts.optimizer_state));
  }
  if (counts.lookups) {
    common::v1::Lookups* lookups = message.mutable_counts()->mutable_lookups();
    lookups->set_indices(counts.lookups->indices);
    lookups->set_table_rows(counts.lookups->table_rows);
    lookups->set_row_bytes(counts.lookups->row_bytes);
  }
  if (counts.gemm) {
    common::v1::GemmRows* gemm = message.mutable_counts()->mutable_gemm();
    gemm->set_rows(counts.gemm->rows);
    gemm->set_outputs(counts.gemm->outputs);
    gemm->set_inputs(counts.gemm->inputs);
  }
}

void ToMessage(const gpu_model::GpuModel& gpu, v1::Gpu& message) {
  message.set_name(gpu.name);
  message.set_product_name(gpu.product_name);
  message.set_compute_major(gpu.compute_major);
  message.set_compute_minor(gpu.compute_minor);
  message.set_multiprocessors(gpu.multiprocessors);
  message.set_boost_clock_megahertz(Megahertz(gpu.boost_clock_hz));
  message.set_sustained_clock_megahertz(Megahertz(gpu.sustained_clock_hz));
  message.set_memory_clock_megahertz(Megahertz(gpu.memory_clock_hz));
  message.set_memory_bus_bits(gpu.memory_bus_bits);
  message.set_memory_bytes(gpu.memory_bytes);
  message.set_memory_bytes_per_second(gpu.memory_bytes_per_second);
  message.set_l2_bytes(gpu.l2_bytes);
  message.set_copy_engines(gpu.copy_engines);
  message.set_max_threads_per_multiprocessor(gpu.max_threads_per_multiprocessor);
  message.set_max_blocks_per_multiprocessor(gpu.max_blocks_per_multiprocessor);
  message.set_registers_per_multiprocessor(gpu.registers_per_multiprocessor);
  message.set_shared_bytes_per_multiprocessor(
      static_cast<std::uint32_t>(gpu.shared_bytes_per_multiprocessor));
  message.set_shared_bytes_per_block_optin(
      static_cast<std::uint32_t>(gpu.shared_bytes_per_block_optin));
  message.set_nvlink_count(gpu.nvlink_count);
  message.set_nvlink_generation(gpu.nvlink_generation);
  message.set_nvlink_bytes_per_second(gpu.nvlink_bytes_per_second);
  message.set_pcie_bytes_per_second(gpu.pcie_bytes_per_second);
  message.set_power_limit_watts(gpu.power_limit_watts);
  message.set_context_bytes(gpu.context_bytes);
  message.set_launch_gap_picoseconds(static_cast<std::uint64_t>(gpu.launch_gap.ps));
  message.set_graph_gap_picoseconds(static_cast<std::uint64_t>(gpu.graph_gap.ps));
  message.set_launch_latency_picoseconds(static_cast<std::uint64_t>(gpu.launch_latency.ps));
  for (const auto& [type, rate] : gpu.peak_flops) (*message.mutable_peak_flops())[type] = rate;
  if (!gpu.fixed) return;
  v1::FixedDurations& fixed = *message.mutable_fixed();
  fixed.set_host_call_picoseconds(static_cast<std::uint64_t>(gpu.fixed->host_call.ps));
  fixed.set_host_operator_picoseconds(static_cast<std::uint64_t>(gpu.fixed->host_operator.ps));
  fixed.set_transfer_picoseconds(static_cast<std::uint64_t>(gpu.fixed->transfer.ps));
  fixed.set_transfer_bytes_per_second(gpu.fixed->transfer_bytes_per_second);
}

}  // namespace eidolon::timing
