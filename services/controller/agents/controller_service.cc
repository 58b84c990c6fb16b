// The bidirectional stream is the session: its end means that the agent is gone. The first report
// is Hello, whose token says for which server of which job the agent speaks; no later report names
// either. The handler's thread belongs to the stream, and other threads write to it by the link.
// The job may be stopped as soon as Attach has the link, so a stop waits there for the assignment.
// gRPC frees the stream when AgentSession returns, so Close takes the pointer away under the lock
// that also orders the writes. Reports of an unknown kind are ignored, which lets a newer agent
// work with this controller.
#include "services/controller/agents/controller_service.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "services/contract/folding/wire/fold_message.h"
#include "services/controller/agents/agent_report.h"
#include "services/controller/job/wire/cluster_message.h"
#include "services/runtime/grpc_status.h"

namespace eidolon::controller::agents {
namespace {

using Stream = grpc::ServerReaderWriter<v1::ControllerCommand, v1::AgentReport>;

v1::ControllerCommand ToStop(const std::string& reason) {
  v1::ControllerCommand command;
  command.mutable_stop()->set_reason(reason);
  return command;
}

// Writes to the stream until the session's thread closes the link. The assignment comes first: an
// agent takes any other command in its place for an error, and would end without an outcome.
class StreamLink final : public AgentLink {
 public:
  explicit StreamLink(Stream* stream) : stream_(stream) {}

  // Before the assignment, the stop is kept and follows it.
  void SendStop(const std::string& reason) override {
    const std::lock_guard lock(mutex_);
    if (!is_assigned_) {
      early_stop_ = reason;
      return;
    }
    if (stream_ != nullptr) stream_->Write(ToStop(reason));
  }
  // Call once, from the session's thread.
  void SendAssignment(const v1::ControllerCommand& assignment) {
    const std::lock_guard lock(mutex_);
    stream_->Write(assignment);
    is_assigned_ = true;
    if (early_stop_) stream_->Write(ToStop(*early_stop_));
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    stream_ = nullptr;
  }

 private:
  std::mutex mutex_;  // Guards what follows and makes writes one after another.
  Stream* stream_;
  bool is_assigned_ = false;
  std::optional<std::string> early_stop_;  // The reason of a stop that came before the assignment.
};

void FillDeclarations(const job::ValuesSpec& values, v1::Assignment* assignment) {
  for (const job::DeclaredValue& in : values.declared) {
    v1::DeclaredValue& out = *assignment->add_declared_values();
    out.set_number(static_cast<std::uint32_t>(assignment->declared_values_size()));
    out.set_kernel(in.kernel);
    out.set_line(in.line);
    out.set_pointer(in.pointer.value_or(0));
    out.set_any_pointer(!in.pointer);
    out.set_type(in.type);
    out.set_value(in.value);
    if (!in.routing) continue;
    v1::ExpertRouting& routing = *out.mutable_routing();
    routing.set_gives_counts(in.routing->gives_counts);
    routing.set_experts(in.routing->experts);
    routing.set_tokens(in.routing->tokens);
    routing.set_top_k(in.routing->top_k);
    routing.set_seed(in.routing->seed);
    routing.set_zipf_exponent(in.routing->zipf_exponent);
    routing.set_file(in.routing->file);
  }
}

void FillHostModel(const job::JobSpec& spec, v1::HostModel* out) {
  switch (spec.host_model) {
    case job::HostModel::kMeasured:
      out->set_kind(v1::HostModel::MEASURED);
      break;
    case job::HostModel::kCounted:
      out->set_kind(v1::HostModel::COUNTED);
      break;
    case job::HostModel::kFixed:
      out->set_kind(v1::HostModel::FIXED);
      break;
  }
  if (!spec.jitter) return;
  v1::HostJitter& jitter = *out->mutable_jitter();
  jitter.set_per_second(spec.jitter->per_second);
  jitter.set_mean_picoseconds(static_cast<std::uint64_t>(spec.jitter->length.ps));
  jitter.set_exponential(spec.jitter->exponential);
  jitter.set_seed(spec.jitter->seed);
}

v1::ControllerCommand ToCommand(const Assignment& assignment) {
  v1::ControllerCommand command;
  v1::Assignment& out = *command.mutable_assignment();
  const job::ResolvedJob& resolved = assignment.resolved;
  const job::JobSpec& spec = resolved.spec;
  out.set_job(assignment.job);
  out.set_server(assignment.agent.server);
  out.set_servers(resolved.servers);
  out.set_ranks_per_server(resolved.ranks_per_server);
  for (const std::string& word : spec.command) out.add_command(word);
  for (const auto& [name, value] : spec.environment) (*out.mutable_environment())[name] = value;
  out.set_working_directory(spec.working_directory);
  job::wire::FillCluster(resolved.cluster, assignment.job, out.mutable_cluster());
  out.set_timing_address(assignment.timing_address);
  out.set_network_address(assignment.network_address);
  out.set_pass(assignment.service_token);
  out.set_master_address(assignment.master_address);
  out.set_master_port(assignment.master_port);
  FillHostModel(spec, out.mutable_host_model());
  if (spec.varies) out.mutable_variation()->set_seed(spec.variation_seed);
  out.mutable_iterations()->set_warmup(spec.iterations.warmup);
  out.mutable_iterations()->set_measure(spec.iterations.measure);
  out.mutable_iterations()->set_nvtx(spec.iterations.nvtx);
  out.mutable_iterations()->set_log_pattern(spec.iterations.log);
  // The shim reads this flag (services/contract/ring/layout.h).
  constexpr std::uint32_t kComputeValues = 0x100;
  constexpr std::uint32_t kPlausibleValues = 0x1000;
  out.set_unknown_reads(
      (spec.values.unknown_reads == job::UnknownReads::kOne ? 1 : 0) |
      (spec.values.unknown_reads == job::UnknownReads::kPlausible ? kPlausibleValues : 0) |
      (spec.values.compute ? kComputeValues : 0));
  FillDeclarations(spec.values, &out);
  out.set_strict(spec.strict);
  out.set_run_directory(assignment.run_directory);
  out.set_write_event_log(spec.event_log);
  if (spec.timeline.iterations > 0) {
    v1::TimelineRule* timeline = out.mutable_timeline();
    timeline->set_iterations(spec.timeline.iterations);
    timeline->mutable_ranks()->Assign(spec.timeline.ranks.begin(), spec.timeline.ranks.end());
    timeline->set_operations_max(spec.timeline.operations_max);
  }
  out.set_sent_output_bytes_max(assignment.sent_output_bytes_max);
  out.set_keep_recording(spec.recording);
  if (!spec.replay.recording.empty()) {
    out.mutable_replay()->set_recording(spec.replay.recording);
    out.mutable_replay()->set_host_permille(job::Permille(spec.replay.host_factor));
    if (spec.replay.kernel_factor != 1) {
      out.mutable_replay()->set_kernel_permille(job::Permille(spec.replay.kernel_factor));
    }
    out.mutable_replay()->set_even_hosts(spec.replay.even_hosts);
  }
  if (resolved.fold.is_folded()) *out.mutable_folding() = folding::ToProto(resolved.fold);
  return command;
}

}  // namespace

grpc::Status ControllerService::AgentSession(grpc::ServerContext* /*context*/, Stream* stream) {
  v1::AgentReport report;
  if (!stream->Read(&report) || !report.has_hello()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "the first report of an agent is Hello"};
  }
  const auto link = std::make_shared<StreamLink>(stream);
  const auto assignment = handler_.Attach(report.hello().token(), link);
  if (!assignment) {
    link->Close();
    return runtime::ToStatus(assignment.error());
  }
  link->SendAssignment(ToCommand(*assignment));
  while (stream->Read(&report)) Handle(assignment->agent, report);
  handler_.Detach(assignment->agent);
  link->Close();
  return grpc::Status::OK;
}

void ControllerService::Handle(AgentName agent, const v1::AgentReport& report) {
  switch (report.report_case()) {
    case v1::AgentReport::kProgress:
      handler_.OnProgress(agent, FromProto(report.progress()));
      break;
    case v1::AgentReport::kIteration:
      handler_.OnIteration(agent, FromProto(report.iteration()));
      break;
    case v1::AgentReport::kLog:
      handler_.OnLogLine(agent, {.server = agent.server,
                                 .standard_error = report.log().stream() == 2,
                                 .virtual_ps = report.log().virtual_picoseconds(),
                                 .text = report.log().text()});
      break;
    case v1::AgentReport::kUsage:
      handler_.OnUsage(agent, FromProto(report.usage()));
      break;
    case v1::AgentReport::kOutput:
      handler_.OnOutput(agent, FromProto(report.output()));
      break;
    case v1::AgentReport::kOutcome:
      handler_.OnOutcome(agent, FromProto(report.outcome()));
      break;
    default:  // A second Hello, or a report of a newer agent.
      break;
  }
}

}  // namespace eidolon::controller::agents
