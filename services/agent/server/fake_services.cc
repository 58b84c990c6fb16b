// A test of the agent must not depend on models, so these services answer with fixed times, and
// they answer by gRPC, because the agent's clients are tested with it. The network follows the
// protocol of promises faithfully (processed counts, bounds, release when all are quiescent),
// because an agent that breaks it has to hang here as it would in a job.
#include "services/agent/server/fake_services.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <thread>

#include "services/contract/workload/definition.h"

namespace eidolon::agent::server {

namespace net = network::v1;

constexpr std::uint64_t kFakeMicrosecond = 1'000'000;

grpc::Status FakeTiming::DescribeGpu(grpc::ServerContext*,
                                     const timing::v1::DescribeGpuRequest* request,
                                     timing::v1::DescribeGpuResponse* response) {
  if (request->gpu() != "H100-SXM5-80GB") {
    return {grpc::StatusCode::INVALID_ARGUMENT, "GPU '" + request->gpu() + "' is unknown"};
  }
  timing::v1::Gpu* gpu = response->mutable_gpu();
  gpu->set_name(request->gpu());
  gpu->set_product_name("NVIDIA H100 80GB HBM3");
  gpu->set_compute_major(9);
  gpu->set_multiprocessors(132);
  gpu->set_memory_bytes(std::uint64_t{80} << 30);
  gpu->set_launch_gap_picoseconds(kFakeMicrosecond);
  gpu->set_launch_latency_picoseconds(3 * kFakeMicrosecond);
  return grpc::Status::OK;
}

grpc::Status FakeTiming::Estimate(grpc::ServerContext*, const timing::v1::EstimateRequest* request,
                                  timing::v1::EstimateResponse* response) {
  std::this_thread::sleep_for(delay_.load());
  for (const std::string& definition : request->definitions()) {
    const bool is_kernel =
        workload::KindOf(std::as_bytes(std::span(definition))) == workload::WorkKind::kKernel;
    common::v1::Estimate* estimate = response->add_estimates();
    estimate->set_duration_picoseconds((is_kernel ? 10 : 5) * kFakeMicrosecond);
    estimate->set_source(common::v1::ESTIMATE_SOURCE_MODELLED);
    estimate->set_relative_error(0.1f);
    if (is_kernel && matrix_flops_ > 0) {
      estimate->mutable_counts()->set_matrix_flops(matrix_flops_);
    }
    estimate->set_family(is_kernel ? "elementwise" : "copy");
  }
  return grpc::Status::OK;
}

grpc::Status FakeNetwork::EstimateCollective(grpc::ServerContext*,
                                             const net::EstimateCollectiveRequest*,
                                             net::EstimateCollectiveResponse* response) {
  response->set_duration_picoseconds(100 * kFakeMicrosecond);
  response->set_channels(0);
  return grpc::Status::OK;
}

grpc::Status FakeNetwork::Session(grpc::ServerContext*, Stream* stream) {
  Agent* agent = nullptr;
  {
    const std::lock_guard lock(mutex_);
    agents_.push_back(std::make_unique<Agent>(Agent{.stream = stream}));
    agent = agents_.back().get();
  }
  net::SessionRequest request;
  while (stream->Read(&request)) {
    const std::lock_guard lock(mutex_);
    if (!request.has_batch()) Handle(agent, request);
    for (const auto& part : request.batch().requests()) Handle(agent, part);
    Advance();
  }
  const std::lock_guard lock(mutex_);
  agent->stream = nullptr;
  return grpc::Status::OK;
}

void FakeNetwork::Handle(Agent* agent, const net::SessionRequest& request) {
  switch (request.message_case()) {
    case net::SessionRequest::kJoin:
      HandleJoin(agent, request.join());
      break;
    case net::SessionRequest::kIssue:
      HandleIssue(request.issue());
      break;
    case net::SessionRequest::kPost: {
      const auto& post = request.post();
      collectives_[{post.communicator(), post.sequence()}].ready[post.rank()] =
          post.ready_picoseconds();
      break;
    }
    case net::SessionRequest::kHorizon:
      agent->bound = request.horizon().lower_bound_picoseconds();
      agent->own_bound = std::numeric_limits<std::uint64_t>::max();
      for (const auto& own : request.horizon().own_bounds()) {
        agent->own_bound = std::min<std::uint64_t>(agent->own_bound, own.picoseconds());
      }
      agent->processed = request.horizon().processed();
      agent->wanted = request.horizon().wanted_picoseconds();
      agent->quiescent = request.horizon().quiescent();
      claims_quiescence_ = agent->quiescent;
      break;
    default:
      break;
  }
}

void FakeNetwork::HandleJoin(Agent* agent, const net::Join& join) {
  Meeting& meeting = meetings_[join.unique_id()];
  meeting.number = meetings_.size();
  meeting.size = join.size();
  meeting.members[join.rank()] = {
      .agent = agent, .request = join.request(), .ready = join.ready_picoseconds()};
  ++joins_;
  if (static_cast<int>(meeting.members.size()) < meeting.size) return;
  std::uint64_t latest = 0;
  for (const auto& [rank, member] : meeting.members) latest = std::max(latest, member.ready);
  for (const auto& [rank, member] : meeting.members) {
    net::SessionResponse response;
    net::Joined* joined = response.mutable_joined();
    joined->set_request(member.request);
    joined->set_communicator(meeting.number);
    joined->set_rank(rank);
    joined->set_size(meeting.size);
    joined->set_finish_picoseconds(latest + 1000 * kFakeMicrosecond);
    ++member.agent->sent;
    member.agent->stream->Write(response);
  }
}

// The result of a small collective: every member's payload one after another, for everybody.
void FakeNetwork::HandleIssue(const net::Issue& issue) {
  Collective& collective = collectives_[{issue.communicator(), issue.sequence()}];
  collective.payloads[issue.rank()] = issue.payload();
  for (const auto& [name, meeting] : meetings_) {
    if (meeting.number != issue.communicator()) continue;
    if (++collective.issued < meeting.size) return;
    std::string all;
    for (const auto& [rank, payload] : collective.payloads) all += payload;
    for (const auto& [rank, member] : meeting.members) {
      net::SessionResponse response;
      net::Values* values = response.mutable_values();
      values->set_communicator(issue.communicator());
      values->set_sequence(issue.sequence());
      values->set_rank(rank);
      values->set_known(!all.empty());
      values->set_payload(all);
      member.agent->stream->Write(response);
    }
  }
}

void FakeNetwork::Advance() {
  while (CommitNext()) {
  }
  if (releases_.load()) Release();
  std::uint64_t safe = std::numeric_limits<std::uint64_t>::max();
  for (const auto& agent : agents_) {
    if (agent->stream != nullptr) safe = std::min(safe, agent->bound);
  }
  for (const auto& agent : agents_) {
    if (agent->stream == nullptr || agent->wanted == 0 || agent->wanted <= agent->told) continue;
    if (safe < agent->wanted) continue;
    net::SessionResponse response;
    response.mutable_safe_through()->set_time_picoseconds(agent->wanted);
    agent->told = agent->wanted;
    agent->stream->Write(response);
  }
}

void FakeNetwork::Release() {
  std::uint64_t earliest = std::numeric_limits<std::uint64_t>::max();
  for (const auto& agent : agents_) {
    if (!agent->quiescent || agent->processed != agent->sent) return;
    if (agent->wanted != 0) earliest = std::min(earliest, agent->wanted);
  }
  if (earliest == std::numeric_limits<std::uint64_t>::max()) return;
  for (const auto& agent : agents_) {
    if (agent->stream == nullptr) continue;
    net::SessionResponse response;
    response.mutable_safe_through()->set_time_picoseconds(earliest);
    response.mutable_safe_through()->set_released(true);
    agent->quiescent = false;
    agent->stream->Write(response);
  }
}

bool FakeNetwork::CommitNext() {
  if (static_cast<int>(agents_.size()) < servers_) return false;
  std::uint64_t safe = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t own = safe;
  for (const auto& agent : agents_) {
    if (agent->stream == nullptr) continue;
    if (agent->processed != agent->sent) return false;
    safe = std::min(safe, agent->bound);
    own = std::min(own, agent->own_bound);
  }
  for (auto& [key, collective] : collectives_) {
    const auto meeting = std::find_if(meetings_.begin(), meetings_.end(), [&](const auto& entry) {
      return entry.second.number == key.first;
    });
    if (collective.committed || meeting == meetings_.end()) continue;
    if (static_cast<int>(collective.ready.size()) < meeting->second.size) continue;
    std::uint64_t start = 0;
    for (const auto& [rank, ready] : collective.ready) start = std::max(start, ready);
    const std::uint64_t finish = start + 100 * kFakeMicrosecond;
    const bool foreseen = finish > safe;
    if (foreseen && (!foresees_ || finish > own)) continue;
    if (foreseen) ++foreseen_;
    collective.committed = true;
    net::SessionResponse response;
    net::Committed* committed = response.mutable_committed();
    committed->set_communicator(key.first);
    committed->set_sequence(key.second);
    committed->set_rank(-1);
    committed->set_start_picoseconds(start);
    committed->set_finish_picoseconds(finish);
    committed->set_foreseen(foreseen);
    committed->set_algorithm("ring");
    committed->set_protocol("simple");
    committed->set_source(source_);
    for (const auto& agent : agents_) {
      const auto& members = meeting->second.members;
      const bool concerned = std::any_of(members.begin(), members.end(), [&](const auto& entry) {
        return entry.second.agent == agent.get();
      });
      if (agent->stream == nullptr || !concerned) continue;
      ++agent->sent;
      agent->stream->Write(response);
    }
    return true;
  }
  return false;
}

void FakeNetwork::DeclareDeadlock(const std::string& report) {
  const std::lock_guard lock(mutex_);
  for (const auto& agent : agents_) {
    net::SessionResponse response;
    response.mutable_deadlock()->set_report(report);
    if (agent->stream != nullptr) agent->stream->Write(response);
  }
}

grpc::Status FakeController::AgentSession(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<controller::v1::ControllerCommand, controller::v1::AgentReport>*
        stream) {
  controller::v1::AgentReport report;
  while (stream->Read(&report)) {
    const std::lock_guard lock(mutex_);
    stream_ = stream;
    if (report.has_hello()) {
      controller::v1::ControllerCommand command;
      *command.mutable_assignment() = assignment_;
      stream->Write(command);
    }
    reports_.push_back(report);
    heard_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  stream_ = nullptr;
  return grpc::Status::OK;
}

void FakeController::SendStop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  controller::v1::ControllerCommand command;
  command.mutable_stop()->set_reason(reason);
  if (stream_ != nullptr) stream_->Write(command);
}

void FakeController::WaitFor(
    const std::function<bool(const std::vector<controller::v1::AgentReport>&)>& enough) {
  std::unique_lock lock(mutex_);
  heard_.wait(lock, [&] { return enough(reports_); });
}

std::vector<controller::v1::AgentReport> FakeController::reports() {
  const std::lock_guard lock(mutex_);
  return reports_;
}

controller::v1::Outcome FakeController::outcome() {
  for (const auto& report : reports()) {
    if (report.has_outcome()) return report.outcome();
  }
  return {};
}

std::vector<controller::v1::Iteration> FakeController::iterations() {
  std::vector<controller::v1::Iteration> found;
  for (const auto& report : reports()) {
    if (report.has_iteration()) found.push_back(report.iteration());
  }
  return found;
}

std::vector<std::string> FakeController::lines() {
  std::vector<std::string> found;
  for (const auto& report : reports()) {
    if (report.has_log()) found.push_back(report.log().text());
  }
  return found;
}

}  // namespace eidolon::agent::server
