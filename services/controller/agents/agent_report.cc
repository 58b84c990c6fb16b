// The domain has its own types, so that generated code stays at this boundary. Agents may be newer
// than the controller: an unknown reason of an outcome counts as a failed command, an unknown
// source of an estimate as assumed, which claims the least. Numbers of an agent are untrusted as
// well: the time without movement is bounded before it becomes nanoseconds, because the product
// could overflow. Kernel names are demangled here once, and all later comparisons are of readable
// names.
#include "services/controller/agents/agent_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "services/base/demangle.h"
#include "services/contract/estimate/wire/source_message.h"
#include "services/contract/folding/wire/fold_message.h"

namespace eidolon::controller::agents {
namespace {

// A kernel's name as its source has it, where that can be told.
std::string ReadableName(const std::string& name) { return base::Demangle(name).value_or(name); }

std::vector<job::NamedAmount> FromProto(
    const google::protobuf::RepeatedPtrField<v1::NamedAmount>& amounts) {
  std::vector<job::NamedAmount> list;
  for (const v1::NamedAmount& amount : amounts) {
    list.push_back({ReadableName(amount.name()), amount.amount()});
  }
  return list;
}

std::string NameOf(common::v1::EstimateSource source) {
  const auto known = estimate::wire::FromMessage(source);
  return std::string(estimate::Name(known.value_or(estimate::Source::kAssumed)));
}

std::vector<job::KernelTime> FromProto(
    const google::protobuf::RepeatedPtrField<v1::KernelTime>& kernels) {
  std::vector<job::KernelTime> list;
  for (const v1::KernelTime& kernel : kernels) {
    list.push_back({.name = ReadableName(kernel.name()),
                    .family = kernel.family(),
                    .source = NameOf(kernel.source()),
                    .picoseconds = kernel.picoseconds(),
                    .launches = kernel.launches(),
                    .shortest_picoseconds = kernel.shortest_picoseconds(),
                    .matrix_flops = kernel.matrix_flops()});
  }
  return list;
}

job::OutcomeReason ReasonOf(v1::OutcomeReason reason) {
  switch (reason) {
    case v1::OUTCOME_REASON_COMPLETED:
      return job::OutcomeReason::kCompleted;
    case v1::OUTCOME_REASON_STOPPED:
      return job::OutcomeReason::kStopped;
    case v1::OUTCOME_REASON_OUT_OF_MEMORY:
      return job::OutcomeReason::kOutOfMemory;
    case v1::OUTCOME_REASON_DEADLOCK:
      return job::OutcomeReason::kDeadlock;
    case v1::OUTCOME_REASON_RANK_LOST:
      return job::OutcomeReason::kRankLost;
    case v1::OUTCOME_REASON_UNSUPPORTED_CALL:
      return job::OutcomeReason::kUnsupportedCall;
    case v1::OUTCOME_REASON_SERVICE_LOST:
      return job::OutcomeReason::kServiceLost;
    case v1::OUTCOME_REASON_COLLECTIVE_MISMATCH:
      return job::OutcomeReason::kCollectiveMismatch;
    case v1::OUTCOME_REASON_RING_DAMAGED:
      return job::OutcomeReason::kRingDamaged;
    case v1::OUTCOME_REASON_PEER_LOST:
      return job::OutcomeReason::kPeerLost;
    case v1::OUTCOME_REASON_SESSION_LOST:
      return job::OutcomeReason::kSessionLost;
    case v1::OUTCOME_REASON_RANKS_DIFFER:
      return job::OutcomeReason::kRanksDiffer;
    case v1::OUTCOME_REASON_OUT_OF_HOST_MEMORY:
      return job::OutcomeReason::kOutOfHostMemory;
    default:
      return job::OutcomeReason::kCommandFailed;
  }
}

job::Breakdown FromProto(const v1::Breakdown& parts) {
  return {parts.compute_picoseconds(), parts.exposed_communication_picoseconds(),
          parts.idle_picoseconds(), parts.host_picoseconds()};
}

job::Coverage FromProto(const v1::Coverage& busy) {
  return {busy.measured_picoseconds(), busy.interpolated_picoseconds(), busy.modelled_picoseconds(),
          busy.assumed_picoseconds()};
}

job::WorkCounts FromProto(const common::v1::WorkCounts& counts) {
  return {.matrix_flops = counts.matrix_flops(),
          .parameter_bytes = counts.parameter_bytes(),
          .gradient_bytes = counts.gradient_bytes(),
          .optimizer_state_bytes = counts.optimizer_state_bytes()};
}

job::RankEnergy FromProto(const v1::Energy& energy) {
  return {.microjoules = energy.microjoules(), .peak_milliwatts = energy.peak_milliwatts()};
}

job::TokenWork FromProto(const v1::TokenWork& in) {
  job::TokenWork tokens;
  for (const v1::TokenTable& table : in.tables()) {
    tokens.lookups.push_back({.indices = table.lookups().indices(),
                              .table_rows = table.lookups().table_rows(),
                              .row_bytes = table.lookups().row_bytes(),
                              .sharers = table.sharers(),
                              .forward_flops = table.forward_flops()});
  }
  for (const v1::TokenGemm& gemm : in.gemms()) {
    tokens.gemms.push_back({.rows = gemm.gemm().rows(),
                            .outputs = gemm.gemm().outputs(),
                            .inputs = gemm.gemm().inputs(),
                            .launches = gemm.launches()});
  }
  if (in.has_inputs()) {
    tokens.inputs = job::ProgramInputs{.samples = in.inputs().samples(),
                                       .tokens = in.inputs().tokens(),
                                       .batch = in.inputs().batch(),
                                       .is_later_stage = in.inputs().later_stage(),
                                       .is_clear = !in.inputs().unclear()};
  }
  return tokens;
}

}  // namespace

job::RankIteration FromProto(const v1::Iteration& in) {
  return {.rank = in.rank(),
          .index = in.index(),
          .start_ps = in.start_picoseconds(),
          .end_ps = in.end_picoseconds(),
          .error_ps = in.error_picoseconds(),
          .host_work_ps = in.host_work_picoseconds(),
          .slowness_ps = in.slowness_picoseconds(),
          .assumed_launches = in.assumed_launches(),
          .energy = FromProto(in.energy()),
          .breakdown = FromProto(in.breakdown()),
          .copies_to_host_ps = in.copies_to_host_picoseconds(),
          .copies_to_device_ps = in.copies_to_device_picoseconds(),
          .coverage = FromProto(in.coverage()),
          .counts = FromProto(in.counts()),
          .tokens = FromProto(in.tokens()),
          .assumed_kernels = FromProto(in.coverage().assumed_kernels()),
          .kernels = FromProto(in.coverage().kernels())};
}

job::ServerUsage FromProto(const v1::Usage& in) {
  job::ServerUsage usage = {
      .memory = {},
      .refused_calls = FromProto(in.refused_calls()),
      .unknown_reads = in.unknown_reads(),
      .unknown_read_sources = {},
      .used_declarations = {in.used_declarations().begin(), in.used_declarations().end()},
      .clamped_records = in.clamped_records(),
      .guessed_collectives = in.guessed_collectives(),
      .guessed_call_sites = FromProto(in.guessed_call_sites()),
      .work_differences = FromProto(in.work_differences()),
      .work_differences_total = in.work_differences_total(),
      .programs = {}};
  for (const v1::RankProgram& program : in.programs()) {
    usage.programs.push_back({.rank = program.rank(),
                              .length_ps = program.picoseconds(),
                              .error_ps = program.error_picoseconds(),
                              .host_work_ps = program.host_work_picoseconds(),
                              .energy = FromProto(program.energy()),
                              .launches = program.launches(),
                              .breakdown = FromProto(program.breakdown()),
                              .coverage = FromProto(program.coverage()),
                              .counts = FromProto(program.counts()),
                              .assumed_kernels = FromProto(program.coverage().assumed_kernels()),
                              .kernels = FromProto(program.coverage().kernels())});
  }
  for (const v1::UnknownReadSource& source : in.unknown_read_sources()) {
    usage.unknown_read_sources.push_back({.writer = source.writer(),
                                          .pointer = source.pointer(),
                                          .line = source.line(),
                                          .given = source.given(),
                                          .declaration = source.declaration(),
                                          .reads = source.reads(),
                                          .bytes = source.bytes()});
  }
  for (const v1::RankMemory& rank : in.memory()) {
    usage.memory.push_back({.rank = rank.rank(),
                            .device = rank.device(),
                            .peak_bytes = rank.peak_bytes(),
                            .capacity_bytes = rank.capacity_bytes(),
                            .allocations_bytes = rank.allocations_bytes(),
                            .workspace_bytes = rank.workspace_bytes(),
                            .nccl_bytes = rank.nccl_bytes(),
                            .context_bytes = rank.context_bytes(),
                            .bytes_per_second = rank.bytes_per_second(),
                            .refused_bytes = rank.refused_bytes(),
                            .activation_bytes = rank.activation_bytes()});
  }
  return usage;
}

job::AgentProgress FromProto(const v1::Progress& in) {
  constexpr std::uint64_t kMostMs = 1'000'000'000;
  return {
      .virtual_ps = in.virtual_picoseconds(),
      .launches = in.launches(),
      .still_ns = static_cast<std::int64_t>(std::min(in.still_milliseconds(), kMostMs)) * 1'000'000,
      .is_stopped = in.is_stopped(),
      .witness = in.witness()};
}

outputs::Kind KindOf(v1::OutputKind kind) {
  switch (kind) {
    case v1::OUTPUT_KIND_TRACES:
      return outputs::Kind::kTraces;
    case v1::OUTPUT_KIND_RECORDING:
      return outputs::Kind::kRecording;
    default:
      return outputs::Kind::kTimeline;
  }
}

outputs::Part FromProto(const v1::OutputPart& in) {
  return {
      .kind = KindOf(in.kind()), .data = in.data(), .is_last = in.is_last(), .error = in.error()};
}

job::AgentOutcome FromProto(const v1::Outcome& in) {
  return {.reason = ReasonOf(in.reason()),
          .message = in.message(),
          .exit_status = in.exit_status(),
          .ranks_differ_by = folding::DimensionsFrom(in.ranks_differ_by())};
}

}  // namespace eidolon::controller::agents
