// Units change here and nowhere else: seconds and watts of the domain become picoseconds and
// milliwatts of the protocol. Counts are clamped before they become integers. Fields without a
// value are left out, as batches have up to 100,000 answers.
#include "services/timing/work_messages.h"

#include <algorithm>

#include "services/contract/estimate/wire/source_message.h"

namespace eidolon::timing {
namespace {

std::uint64_t Whole(double count) {
  constexpr double kMost = 1e18;  // Fits; more than any GPU does in an hour.
  return static_cast<std::uint64_t>(std::clamp(count, 0.0, kMost));
}

std::uint32_t Megahertz(std::uint64_t hertz) {
  return static_cast<std::uint32_t>((hertz + 500'000) / 1'000'000);
}

std::uint32_t Milliwatts(double watts) { return static_cast<std::uint32_t>(watts * 1e3 + 0.5); }

}  // namespace

void ToMessage(const model::Estimate& estimate, common::v1::Estimate& message) {
  message.set_duration_picoseconds(
      static_cast<std::uint64_t>(std::max<std::int64_t>(estimate.duration.ps, 0)));
  message.set_source(estimate::wire::ToMessage(estimate.source));
  message.set_relative_error(static_cast<float>(estimate.relative_error));
  message.set_family(estimate.family.data(), estimate.family.size());
  if (estimate.draw.watts > 0) {
    message.set_power_milliwatts(Milliwatts(estimate.draw.watts));
    message.set_memory_power_milliwatts(Milliwatts(estimate.draw.memory_watts));
    message.set_clock_share(static_cast<float>(estimate.draw.clock_share));
  }
  message.set_memory_share(static_cast<float>(estimate.memory_share));
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
  message.set_gemm_graph_gap_picoseconds(static_cast<std::uint64_t>(gpu.gemm_graph_gap.ps));
  message.set_launch_latency_picoseconds(static_cast<std::uint64_t>(gpu.launch_latency.ps));
  for (const auto& [type, rate] : gpu.peak_flops) (*message.mutable_peak_flops())[type] = rate;
  if (!gpu.fixed) message.set_attained_memory_share(gpu.attained_memory_share);
  if (gpu.power && !gpu.fixed) {
    message.mutable_power()->set_floor_milliwatts(Milliwatts(gpu.power->floor_watts));
    message.mutable_power()->set_held_share(gpu.power->held_share);
  }
  if (!gpu.fixed) return;
  v1::FixedDurations& fixed = *message.mutable_fixed();
  fixed.set_host_call_picoseconds(static_cast<std::uint64_t>(gpu.fixed->host_call.ps));
  fixed.set_host_operator_picoseconds(static_cast<std::uint64_t>(gpu.fixed->host_operator.ps));
  fixed.set_transfer_picoseconds(static_cast<std::uint64_t>(gpu.fixed->transfer.ps));
  fixed.set_transfer_bytes_per_second(gpu.fixed->transfer_bytes_per_second);
}

}  // namespace eidolon::timing
