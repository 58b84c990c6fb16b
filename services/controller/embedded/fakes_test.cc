#include "services/controller/embedded/fakes_test.h"

#include <grpcpp/grpcpp.h>

namespace eidolon::controller::embedded {

using base::ErrorCode;
using base::Fail;
using base::Result;

Result<std::vector<std::string>> FakeSimulators::ListGpus() {
  const std::lock_guard lock(mutex_);
  if (broken_) return Fail(ErrorCode::kUnavailable, "asking the timing service at timing:1: gone");
  return std::vector<std::string>{"A100-SXM4-80GB", "H100-SXM5-80GB"};
}

Result<void> FakeSimulators::RegisterJob(const std::string& job, const job::ResolvedJob&) {
  const std::lock_guard lock(mutex_);
  if (broken_)
    return Fail(ErrorCode::kUnavailable, "asking the network service at network:1: gone");
  jobs_.insert(job);
  return {};
}

void FakeSimulators::RemoveJob(const std::string& job) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(job);
}

void FakeSimulators::Break() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
}

std::set<std::string> FakeSimulators::jobs() {
  const std::lock_guard lock(mutex_);
  return jobs_;
}

void FakeAgent::Iterate(std::uint32_t index) {
  constexpr std::uint64_t kTenMs = 10'000'000'000;
  for (std::uint32_t local = 0; local < assignment_.ranks_per_server(); ++local) {
    v1::AgentReport report;
    v1::Iteration& iteration = *report.mutable_iteration();
    iteration.set_rank(
        static_cast<std::int32_t>(server() * assignment_.ranks_per_server() + local));
    iteration.set_index(index);
    iteration.set_start_picoseconds(index * kTenMs);
    iteration.set_end_picoseconds((index + 1) * kTenMs);
    iteration.mutable_breakdown()->set_compute_picoseconds(kTenMs);
    iteration.mutable_coverage()->set_modelled_picoseconds(kTenMs);
    iteration.set_error_picoseconds(kTenMs / 10);
    Send(report);
  }
  v1::AgentReport report;
  report.mutable_progress()->set_virtual_picoseconds((index + 1) * kTenMs);
  Send(report);
}

void FakeAgent::Print(const std::string& line) {
  v1::AgentReport report;
  report.mutable_log()->set_stream(1);
  report.mutable_log()->set_text(line);
  Send(report);
}

void FakeAgent::UseMemory(std::uint64_t peak_bytes, std::uint64_t refused_bytes) {
  v1::AgentReport report;
  v1::RankMemory& memory = *report.mutable_usage()->add_memory();
  memory.set_rank(static_cast<std::int32_t>(server() * assignment_.ranks_per_server()));
  memory.set_peak_bytes(peak_bytes);
  memory.set_capacity_bytes(80ull << 30);
  memory.set_allocations_bytes(peak_bytes);
  memory.set_refused_bytes(refused_bytes);
  Send(report);
}

void FakeAgent::End(v1::OutcomeReason reason, const std::string& message) {
  v1::AgentReport report;
  report.mutable_outcome()->set_reason(reason);
  report.mutable_outcome()->set_message(message);
  Send(report);
}

void FakeAgent::Differ(std::uint32_t stride, std::uint32_t size) {
  v1::AgentReport report;
  report.mutable_outcome()->set_reason(v1::OUTCOME_REASON_RANKS_DIFFER);
  report.mutable_outcome()->set_message("rank 0 sends to rank 2");
  auto* dimension = report.mutable_outcome()->add_ranks_differ_by();
  dimension->set_stride(stride);
  dimension->set_size(size);
  Send(report);
}

std::string FakeAgent::AwaitStop() {
  v1::ControllerCommand command;
  while (stream_->Read(&command)) {
    if (command.has_stop()) return command.stop().reason();
  }
  return "";
}

FakePlacement::~FakePlacement() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void FakePlacement::SetScript(AgentScript script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

void FakePlacement::FailNextStart(const std::string& message) {
  const std::lock_guard lock(mutex_);
  failure_ = message;
}

Result<void> FakePlacement::Start(const place::PlacementRequest& request) {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return Fail(ErrorCode::kInternal, std::exchange(failure_, ""));
  for (const place::AgentSlot& slot : request.agents) {
    threads_.emplace_back(
        [this, address = request.controller_address, slot, script = script_,
         on_exit = request.on_exit] { RunAgent(address, slot, script, on_exit); });
  }
  return {};
}

void FakePlacement::RunAgent(
    const std::string& address, const place::AgentSlot& slot, const AgentScript& script,
    const std::function<void(std::uint32_t, const std::string&)>& on_exit) {
  const auto stub = v1::ControllerService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  {
    const std::lock_guard lock(mutex_);
    contexts_.insert(&context);
  }
  const auto stream = stub->AgentSession(&context);
  v1::AgentReport hello;
  hello.mutable_hello()->set_token(slot.token);
  v1::ControllerCommand command;
  std::string how = "ended with status 1";
  if (stream->Write(hello) && stream->Read(&command) && command.has_assignment()) {
    FakeAgent agent(stream.get(), command.assignment());
    how = script(agent);
  }
  stream->WritesDone();
  while (stream->Read(&command)) {
  }
  stream->Finish();
  {
    const std::lock_guard lock(mutex_);
    contexts_.erase(&context);
  }
  on_exit(slot.server, how);
}

void FakePlacement::Terminate(std::int64_t) { Kill(0); }

void FakePlacement::Kill(std::int64_t) {
  const std::lock_guard lock(mutex_);
  for (grpc::ClientContext* context : contexts_) context->TryCancel();
}

std::size_t FakePlacement::started() {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

std::string IterateAndStop(FakeAgent& agent) {
  for (std::uint32_t index = 0; index < 3; ++index) agent.Iterate(index);
  const bool stopped = !agent.AwaitStop().empty();
  agent.End(stopped ? v1::OUTCOME_REASON_STOPPED : v1::OUTCOME_REASON_SERVICE_LOST);
  return "ended with status 0";
}

}  // namespace eidolon::controller::embedded
