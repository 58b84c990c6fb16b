// A report leaves the agent once, and what it says must be that of a rank, so iterations of
// processes that are not known to be one wait (HoldIteration). Lists that grow with the program
// (kernels, tables, GEMMs) are cut at a bound after sorting, because a message has a limit; sums
// cover everything. Texts from the program pass PlainText, since protocol strings must be UTF-8.
#include "services/agent/server/reports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/agent/outcome/plain_text.h"
#include "services/agent/outcome/unknown_read_sum.h"
#include "services/base/text.h"
#include "services/contract/estimate/wire/source_message.h"
#include "services/contract/folding/wire/fold_message.h"

namespace eidolon::agent::server {

namespace controller_v1 = controller::v1;
using base::StrCat;

namespace {

// Time for a controller that has a long queue of reports: what was not read when the agent ends is
// lost.
constexpr int kFinishMs = 60'000;
constexpr std::size_t kKernelsMax = 1000;
constexpr std::size_t kTablesMax = 64;
constexpr std::size_t kGemmsMax = 256;

std::uint64_t Ps(base::Duration duration) { return static_cast<std::uint64_t>(duration.ps); }
std::uint64_t Ps(base::SimTime time) { return static_cast<std::uint64_t>(time.ps); }
std::uint64_t Bytes(std::int64_t bytes) {
  return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
}

void AddAmounts(const std::map<std::string, std::uint64_t>& amounts,
                google::protobuf::RepeatedPtrField<controller_v1::NamedAmount>* out) {
  for (const auto& [name, count] : amounts) {
    controller_v1::NamedAmount* amount = out->Add();
    amount->set_name(outcome::PlainText(name));
    amount->set_amount(count);
  }
}

controller_v1::OutcomeReason ReasonOf(outcome::Reason reason) {
  switch (reason) {
    case outcome::Reason::kCompleted:
      return controller_v1::OUTCOME_REASON_COMPLETED;
    case outcome::Reason::kCommandFailed:
      return controller_v1::OUTCOME_REASON_COMMAND_FAILED;
    case outcome::Reason::kOutOfMemory:
      return controller_v1::OUTCOME_REASON_OUT_OF_MEMORY;
    case outcome::Reason::kDeadlock:
      return controller_v1::OUTCOME_REASON_DEADLOCK;
    case outcome::Reason::kRankLost:
      return controller_v1::OUTCOME_REASON_RANK_LOST;
    case outcome::Reason::kUnsupportedCall:
      return controller_v1::OUTCOME_REASON_UNSUPPORTED_CALL;
    case outcome::Reason::kServiceLost:
      return controller_v1::OUTCOME_REASON_SERVICE_LOST;
    case outcome::Reason::kStopped:
      return controller_v1::OUTCOME_REASON_STOPPED;
    case outcome::Reason::kCollectiveMismatch:
      return controller_v1::OUTCOME_REASON_COLLECTIVE_MISMATCH;
    case outcome::Reason::kRingDamaged:
      return controller_v1::OUTCOME_REASON_RING_DAMAGED;
    case outcome::Reason::kPeerLost:
      return controller_v1::OUTCOME_REASON_PEER_LOST;
    case outcome::Reason::kSessionLost:
      return controller_v1::OUTCOME_REASON_SESSION_LOST;
    case outcome::Reason::kRanksDiffer:
      return controller_v1::OUTCOME_REASON_RANKS_DIFFER;
    case outcome::Reason::kOutOfHostMemory:
      return controller_v1::OUTCOME_REASON_OUT_OF_HOST_MEMORY;
  }
  return controller_v1::OUTCOME_REASON_UNSPECIFIED;
}

void AddKernels(const cost::CostCache& costs, std::vector<iteration::BasisTime> times,
                controller_v1::Coverage* coverage) {
  std::stable_sort(times.begin(), times.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  if (times.size() > kKernelsMax) times.resize(kKernelsMax);
  for (const iteration::BasisTime& time : times) {
    const iteration::Basis& basis = costs.bases()[time.basis];
    controller_v1::KernelTime* kernel = coverage->add_kernels();
    kernel->set_name(outcome::PlainText(costs.name(basis.name)));
    kernel->set_family(outcome::PlainText(costs.name(basis.family)));
    kernel->set_source(estimate::wire::ToMessage(basis.source));
    kernel->set_picoseconds(Ps(time.time));
    kernel->set_launches(time.count);
    kernel->set_shortest_picoseconds(Ps(time.shortest));
    kernel->set_matrix_flops(basis.counts.matrix_flops * time.count);
  }
}

void FillBreakdown(const iteration::Breakdown& parts, controller_v1::Breakdown* breakdown) {
  breakdown->set_compute_picoseconds(Ps(parts.compute));
  breakdown->set_exposed_communication_picoseconds(Ps(parts.exposed_communication));
  breakdown->set_idle_picoseconds(Ps(parts.idle));
  breakdown->set_host_picoseconds(Ps(parts.host));
}

void FillCoverage(const cost::CostCache& costs, const iteration::Split& split,
                  controller_v1::Coverage* coverage) {
  const auto busy = [&](estimate::Source source) {
    return Ps(split.busy_by_source[static_cast<std::size_t>(source)]);
  };
  coverage->set_measured_picoseconds(busy(estimate::Source::kMeasured));
  coverage->set_interpolated_picoseconds(busy(estimate::Source::kInterpolated));
  coverage->set_modelled_picoseconds(busy(estimate::Source::kModelled));
  coverage->set_assumed_picoseconds(busy(estimate::Source::kAssumed));
  for (const iteration::NamedTime& assumed : split.assumed) {
    controller_v1::NamedAmount* named = coverage->add_assumed_kernels();
    named->set_name(outcome::PlainText(costs.name(assumed.name)));
    named->set_amount(Ps(assumed.time));
  }
}

void FillCounts(const cost::CostCache& costs, std::span<const iteration::BasisTime> times,
                common::v1::WorkCounts* counts) {
  iteration::WorkCounts sum;
  for (const iteration::BasisTime& time : times) {
    const iteration::WorkCounts& each = costs.bases()[time.basis].counts;
    sum.matrix_flops += each.matrix_flops * time.count;
    sum.parameter_bytes += each.parameter_bytes * time.count;
    sum.gradient_bytes += each.gradient_bytes * time.count;
    sum.optimizer_state_bytes += each.optimizer_state_bytes * time.count;
  }
  counts->set_matrix_flops(sum.matrix_flops);
  counts->set_parameter_bytes(sum.parameter_bytes);
  counts->set_gradient_bytes(sum.gradient_bytes);
  counts->set_optimizer_state_bytes(sum.optimizer_state_bytes);
}

iteration::TableUse UseOf(std::pair<std::uint64_t, std::uint64_t> table,
                          std::span<const iteration::TableUse> uses) {
  for (const iteration::TableUse& use : uses) {
    if (table == std::pair(use.rows, use.row_bytes)) return use;
  }
  return {};
}

void FillTokens(const cost::CostCache& costs, const iteration::Report& report, bool with_gemms,
                controller_v1::TokenWork* tokens) {
  // Indices by table, that with the most rows first; launches by sizes, the most outputs first.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t, std::greater<>> lookups;
  std::map<std::array<std::uint64_t, 3>, std::uint64_t, std::greater<>> gemms;
  for (const iteration::BasisTime& time : report.split.times) {
    const iteration::WorkCounts& each = costs.bases()[time.basis].counts;
    if (each.lookups.indices > 0) {
      lookups[{each.lookups.table_rows, each.lookups.row_bytes}] +=
          each.lookups.indices * time.count;
    }
    if (with_gemms && each.gemm.rows > 0) {
      gemms[{each.gemm.outputs, each.gemm.inputs, each.gemm.rows}] += time.count;
    }
  }
  if (report.inputs) {
    controller_v1::ProgramInputs* inputs = tokens->mutable_inputs();
    inputs->set_samples(report.inputs->samples);
    inputs->set_tokens(report.inputs->tokens);
    inputs->set_batch(report.inputs->batch);
    inputs->set_later_stage(report.inputs->is_later_stage);
    inputs->set_unclear(!report.inputs->is_clear);
  }
  for (const auto& [table, indices] : lookups | std::views::take(kTablesMax)) {
    controller_v1::TokenTable* sent = tokens->add_tables();
    sent->mutable_lookups()->set_indices(indices);
    sent->mutable_lookups()->set_table_rows(table.first);
    sent->mutable_lookups()->set_row_bytes(table.second);
    const iteration::TableUse use = UseOf(table, report.tables);
    sent->set_sharers(use.sharers);
    sent->set_forward_flops(use.forward_flops);
  }
  for (const auto& [sizes, launches] : gemms | std::views::take(kGemmsMax)) {
    controller_v1::TokenGemm* sent = tokens->add_gemms();
    sent->mutable_gemm()->set_outputs(sizes[0]);
    sent->mutable_gemm()->set_inputs(sizes[1]);
    sent->mutable_gemm()->set_rows(sizes[2]);
    sent->set_launches(launches);
  }
}

// Returns by how much kernels were longer than on a GPU without `slowness`, which is in millionths.
std::int64_t SlownessOf(const cost::CostCache& costs, const iteration::Report& report,
                        std::int32_t slowness) {
  if (slowness == 0) return 0;
  base::Duration sum;
  for (const iteration::BasisTime& time : report.split.times) {
    if (costs.bases()[time.basis].counts.matrix_flops > 0) sum += time.time;
  }
  constexpr double kMillion = 1e6;
  return std::llround(static_cast<double>(sum.ps) * slowness / (kMillion + slowness));
}

// Launches whose duration is a guess. Collectives move what is known.
std::uint64_t AssumedLaunches(const cost::CostCache& costs, const iteration::Report& report) {
  std::uint64_t launches = 0;
  for (const iteration::BasisTime& time : report.split.times) {
    const iteration::Basis& basis = costs.bases()[time.basis];
    const bool is_guess = basis.source == estimate::Source::kAssumed;
    if (is_guess && costs.name(basis.name) != "collective") launches += time.count;
  }
  return launches;
}

// Returns the time of all operations of that name.
std::uint64_t TimeOf(const cost::CostCache& costs, const iteration::Report& report,
                     std::string_view name) {
  base::Duration sum;
  for (const iteration::BasisTime& time : report.split.times) {
    if (costs.name(costs.bases()[time.basis].name) == name) sum += time.time;
  }
  return Ps(sum);
}

}  // namespace

// Of one GPU: a rank that drives several has the floor of one counted.
void Reports::FillEnergy(const iteration::Split& split, base::Duration length,
                         controller_v1::Energy* energy) const {
  const device::PowerTraits& power = job_->traits.front().power;
  if (power.room_milliwatts == 0) return;
  constexpr base::Wide kPerMicrojoule = 1'000'000'000;  // Milliwatts x picoseconds.
  const auto floor = static_cast<base::Wide>(power.floor_milliwatts) * Ps(length) / kPerMicrojoule;
  energy->set_microjoules(split.microjoules + static_cast<std::uint64_t>(floor));
  energy->set_peak_milliwatts(split.milliwatts);
}

void Reports::HoldIteration(const session::Session& session, const iteration::Report& report) {
  const std::uint32_t wanted = session.options().rule.wanted;
  if (wanted == 0 || report.index < wanted) held_[session.options().number].push_back(report);
}

void Reports::SendHeld() {
  const RankRegistry& ranks = processes_->ranks();
  for (auto& [process, reports] : held_) {
    if (!ranks.RankOf(process).has_value()) continue;
    for (const auto& report : std::exchange(reports, {})) {
      SendIteration(processes_->at(process), *ranks.RankOf(process), report);
    }
  }
}

void Reports::SendIteration(const session::Session& session, std::int32_t rank,
                            const iteration::Report& report) {
  metrics_->iterations.Increment();
  controller_v1::AgentReport message;
  controller_v1::Iteration* iteration = message.mutable_iteration();
  iteration->set_rank(rank);
  iteration->set_index(report.index);
  iteration->set_start_picoseconds(Ps(report.start));
  iteration->set_end_picoseconds(Ps(report.end));
  iteration->set_error_picoseconds(Ps(report.split.error));
  iteration->set_host_work_picoseconds(Ps(report.host_work));
  FillEnergy(report.split, report.end - report.start, iteration->mutable_energy());
  iteration->set_slowness_picoseconds(
      SlownessOf(*costs_, report, session.options().devices.front().slowness));
  if (!job_->has_fixed_durations) {
    iteration->set_assumed_launches(AssumedLaunches(*costs_, report));
  }
  FillBreakdown(report.split.breakdown, iteration->mutable_breakdown());
  iteration->set_copies_to_host_picoseconds(TimeOf(*costs_, report, "memcpy DtoH"));
  iteration->set_copies_to_device_picoseconds(TimeOf(*costs_, report, "memcpy HtoD"));
  FillCoverage(*costs_, report.split, iteration->mutable_coverage());
  FillCounts(*costs_, report.split.times, iteration->mutable_counts());
  const bool is_first = report.index == job_->assignment.iterations().warmup();
  FillTokens(*costs_, report, is_first, iteration->mutable_tokens());
  if (is_first) {
    AddKernels(*costs_, report.split.times, iteration->mutable_coverage());
  }
  controller_->Send(message);
}

void Reports::SendProgress(std::size_t waiting) {
  std::uint64_t launches = 0;
  std::size_t open = 0;
  base::SimTime latest;
  std::optional<std::uint32_t> iterations;
  for (const auto& [number, session] : processes_->all()) {
    launches += session->launches();
    open += session->open_operations();
    if (session->is_driving()) latest = std::max(latest, session->clock());
    if (!processes_->IsReporting(*session)) continue;
    iterations =
        std::min(iterations.value_or(session->iterations_ended()), session->iterations_ended());
  }
  metrics_->launches.Increment(static_cast<double>(launches - launches_counted_));
  launches_counted_ = launches;
  const std::uint64_t unknown = costs_ == nullptr ? 0 : costs_->unknown_sources();
  metrics_->unknown_sources.Increment(static_cast<double>(unknown - unknown_sources_counted_));
  unknown_sources_counted_ = unknown;
  metrics_->open_operations.Set(static_cast<double>(open));
  metrics_->mailbox_tasks.Set(static_cast<double>(waiting));
  controller_v1::AgentReport message;
  message.mutable_progress()->set_virtual_picoseconds(Ps(latest));
  message.mutable_progress()->set_iterations(iterations.value_or(0));
  message.mutable_progress()->set_launches(launches);
  watch_->Describe(*processes_, message.mutable_progress());
  controller_->Send(message);
}

void Reports::SendUsage(std::uint64_t clamped, bool is_last) {
  controller_v1::AgentReport message;
  controller_v1::Usage* usage = message.mutable_usage();
  std::map<std::string, std::uint64_t> refused;
  std::map<std::string, std::uint64_t> guessed;
  std::map<std::string, std::uint64_t> differences;
  outcome::UnknownReadSum unknown;
  for (const auto& [number, session] : processes_->all()) {
    const bool is_rank = processes_->ranks().RankOf(number).has_value();
    const session::SessionUsage& used = session->reported_usage();
    unknown.Add(used);
    usage->set_guessed_collectives(usage->guessed_collectives() + used.guessed_collectives);
    for (const auto& [site, count] : used.guessed_sites) guessed[site] += count;
    for (const auto& [where, count] : used.work_differences) differences[where] += count;
    usage->set_work_differences_total(usage->work_differences_total() +
                                      used.work_differences_total);
    for (const auto& [name, count] : used.refused_calls) refused[name] += count;
    for (const auto& [index, memory] : used.memory.devices()) {
      // A launcher holds a context at most.
      if (!is_rank && memory.refused == 0) continue;
      controller_v1::RankMemory* rank = usage->add_memory();
      rank->set_rank(processes_->ranks().NameOf(number));
      rank->set_device(index);
      rank->set_peak_bytes(memory.peak);
      rank->set_capacity_bytes(job_->content.devices[index].memory_bytes);
      rank->set_allocations_bytes(Bytes(memory.at_peak.allocations));
      rank->set_workspace_bytes(Bytes(memory.at_peak.workspace));
      rank->set_nccl_bytes(Bytes(memory.at_peak.nccl));
      rank->set_context_bytes(Bytes(memory.at_peak.context));
      rank->set_refused_bytes(memory.refused);
      rank->set_activation_bytes(memory.activations);
      rank->set_bytes_per_second(job_->content.devices.front().memory_bandwidth);
    }
  }
  if (is_last) AddPrograms(usage);
  AddAmounts(refused, usage->mutable_refused_calls());
  AddAmounts(guessed, usage->mutable_guessed_call_sites());
  AddAmounts(differences, usage->mutable_work_differences());
  unknown.Fill(usage);
  usage->set_clamped_records(clamped);
  controller_->Send(message);
}

// Adds what is known of ranks that have no iteration to show.
void Reports::AddPrograms(controller_v1::Usage* usage) const {
  for (const auto& [number, session] : processes_->all()) {
    const auto rank = processes_->ranks().RankOf(number);
    if (!rank.has_value() || session->launches() == 0) continue;
    if (session->iterations_taken() > job_->assignment.iterations().warmup()) continue;
    const iteration::Program& program = session->program();
    controller_v1::RankProgram* sent = usage->add_programs();
    sent->set_rank(*rank);
    sent->set_picoseconds(Ps(program.end));
    sent->set_error_picoseconds(Ps(program.split.error));
    sent->set_host_work_picoseconds(Ps(program.host_work));
    FillEnergy(program.split, program.end - base::SimTime{}, sent->mutable_energy());
    sent->set_launches(session->launches());
    FillBreakdown(program.split.breakdown, sent->mutable_breakdown());
    FillCoverage(*costs_, program.split, sent->mutable_coverage());
    AddKernels(*costs_, program.split.times, sent->mutable_coverage());
    FillCounts(*costs_, program.split.times, sent->mutable_counts());
  }
}

void Reports::JoinEventLogs() const {
  std::vector<session::EventLogPart> parts;
  for (const auto& [number, session] : processes_->all()) {
    const session::EventLog* log = session->event_log();
    if (log == nullptr) continue;
    parts.push_back(
        {.rank = processes_->ranks().RankOf(number), .path = log->path(), .lines_max = log->end()});
  }
  session::JoinEventLogs(std::move(parts), StrCat(job_->assignment.run_directory(), "/events.log"));
}

void Reports::SendOutcome(const outcome::Ending& ending) {
  controller_v1::AgentReport message;
  controller_v1::Outcome* sent = message.mutable_outcome();
  sent->set_reason(ReasonOf(ending.reason));
  sent->set_message(outcome::PlainText(ending.message));
  sent->set_exit_status(ending.exit_status);
  folding::AddDimensions(ending.ranks_differ_by, sent->mutable_ranks_differ_by());
  controller_->Send(message);
  controller_->Finish(kFinishMs);
}

}  // namespace eidolon::agent::server
