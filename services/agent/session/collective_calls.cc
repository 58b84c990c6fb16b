// A call has two moments. When its record is read, the network hears of it (Issue), so that members
// can be compared and values be combined early; when the stream reaches it, the engine says so
// (Post). Prepare changes nothing: its record is applied again later if an estimate is missing.
// Calls are numbered here and not by the shim, because a graph launch repeats them without records.
// A token names one call to the engine for its whole life. Commit takes the call out of the tables
// first, since the engine reports the operation from inside ResolveCollective.
#include "services/agent/session/collective_calls.h"

#include <utility>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/session/prepared_call.h"
#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
namespace v1 = network::v1;
using base::Duration;
using base::ErrorCode;
using base::Fail;
using base::SimTime;
using base::StrCat;

namespace {

// The least that a call takes once its device is ready. Calls of one group share what alone each
// would pay, and so do several transfers of one call.
Duration LeastOf(const PreparedCall& call) {
  const bool is_lone = call.group_size <= 1 && (!call.point_to_point || call.ops.size() == 1);
  return is_lone ? call.estimate.at_least : Duration{};
}

// Another rank waits for it, and its own may come long before it is reached.
bool IsLoneSend(const PreparedCall& call) {
  return call.point_to_point && call.ops.size() == 1 &&
         call.ops[0].kind == wire::CommunicationKind::kSend;
}

// Returns whether the shim may ask for the operation's result: of larger buffers only when it gave
// an input, or when others alone decide.
bool MayHaveValues(const wire::CommunicationOp& op) {
  if (op.bytes <= wire::ValueBytesMax(op)) return true;
  if (op.bytes > wire::kPayloadBytes) return false;
  return op.payload_bytes > 0 || op.kind == wire::CommunicationKind::kBroadcast ||
         op.kind == wire::CommunicationKind::kScatter ||
         op.kind == wire::CommunicationKind::kReceive;
}

}  // namespace

base::Result<void> CollectiveCalls::DefineTemplate(std::uint32_t id, std::uint32_t communicator,
                                                   std::span<const wire::CommunicationOp> ops) {
  if (templates_.contains(id)) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("communication record: template ", id, " exists already"));
  }
  CommunicationTemplate made{.communicator = communicator, .ops = {ops.begin(), ops.end()}};
  // What a launch sends is not what was there at capture: its values are not known.
  for (wire::CommunicationOp& op : made.ops) op.payload_bytes = 0;
  templates_[id] = std::move(made);
  return {};
}

const CommunicationTemplate* CollectiveCalls::FindTemplate(std::uint32_t id) const {
  const auto found = templates_.find(id);
  return found == templates_.end() ? nullptr : &found->second;
}

base::Result<CollectiveCalls::Prepared> CollectiveCalls::Prepare(
    const Communicator& communicator, std::span<const wire::CommunicationOp> ops,
    std::span<const std::byte> payload) {
  std::vector<PreparedCall> calls = CallsOf(ops, payload);
  bool complete = true;
  for (PreparedCall& call : calls) {
    const auto estimate = host_->FindEstimate(communicator.service, call.operation);
    if (estimate.has_value()) call.estimate = *estimate;
    complete = complete && estimate.has_value();
  }
  if (!complete) return std::nullopt;
  return calls;
}

base::Result<CollectiveCalls::PreparedTemplates> CollectiveCalls::PrepareTemplates(
    std::span<const std::uint32_t> templates) {
  std::vector<OwnedCall> owned;
  for (const std::uint32_t id : templates) {
    const CommunicationTemplate& made = templates_.at(id);
    const auto communicator = communicators_->Find(made.communicator);
    if (!communicator) return std::unexpected(communicator.error());
    auto calls = Prepare(**communicator, made.ops, {});
    if (!calls) return std::unexpected(calls.error());
    if (!calls->has_value()) return std::nullopt;
    for (PreparedCall& call : **calls) owned.push_back({made.communicator, std::move(call)});
  }
  return owned;
}

// Also says where the shim's numbers of its small results lead, and numbers its transfers.
CallName CollectiveCalls::NumberCall(Communicator* communicator, PreparedCall* call) {
  const CallName name{.point_to_point = call->point_to_point,
                      .sequence = call->point_to_point ? communicator->next_group++
                                                       : communicator->next_collective++};
  std::size_t offset = 0;
  for (std::size_t i = 0; i < call->ops.size(); ++i) {
    const wire::CommunicationOp& op = call->ops[i];
    const bool is_send = op.kind == wire::CommunicationKind::kSend;
    const bool is_small = MayHaveValues(op);
    if (!call->point_to_point) {
      if (is_small) communicator->results.AddPlace(op.sequence, {.call = name});
      continue;
    }
    call->operation.mutable_transfers(static_cast<int>(i))
        ->set_sequence(communicator->next_transfer[{op.peer, is_send}]++);
    if (is_send) continue;
    if (is_small) {
      communicator->results.AddPlace(wire::ReceiveValues(op.peer, op.sequence),
                                     {.call = name, .offset = offset, .bytes = op.bytes});
    }
    offset += op.bytes;
  }
  return name;
}

device::Collective CollectiveCalls::Issue(std::uint32_t id, PreparedCall* call) {
  Communicator* communicator = &communicators_->at(id);
  const CallName name = NumberCall(communicator, call);
  v1::SessionRequest message;
  v1::Issue* issue = message.mutable_issue();
  issue->set_communicator(communicator->service);
  issue->set_sequence(name.sequence);
  issue->set_rank(communicator->rank);
  issue->set_has_payload(call->has_payload);
  if (call->has_payload) issue->set_payload(std::move(call->payload));
  *issue->mutable_operation() = call->operation;
  if (call->group_size > 1) {
    issue->set_group_first(name.sequence - call->group_index);
    issue->set_group_size(call->group_size);
  }
  if (!call->site.empty()) issue->set_call_site(call->site);
  const LaunchedWork launched = launched_.Take();
  issue->set_launches(launched.launches());
  issue->set_launched(launched.digest());
  host_->SendToNetwork(std::move(message));

  const std::uint64_t token = next_token_++;
  communicator->open[name] = token;
  const auto kind = static_cast<v1::CollectiveKind>(call->operation.kind());
  open_[token] = {.communicator = id,
                  .name = name,
                  .name_number = host_->costs().InternName(v1::CollectiveKind_Name(kind)),
                  .shown = keeps_shown_ ? ShownOf(*communicator, *call, name) : nullptr};
  return {.communicator = id,
          .token = token,
          .estimate = call->estimate.duration,
          .at_least = LeastOf(*call),
          .tells_bound = IsLoneSend(*call),
          .channels = call->estimate.channels,
          .memory_bytes = call->estimate.memory_bytes};
}

std::unique_ptr<timeline::Collective> CollectiveCalls::ShownOf(const Communicator& communicator,
                                                               const PreparedCall& call,
                                                               const CallName& name) const {
  auto shown = std::make_unique<timeline::Collective>();
  shown->communicator = communicator.service;
  shown->rank = communicator.rank;
  shown->call = name.sequence;
  shown->bytes = call.operation.size_bytes();
  for (const v1::Transfer& transfer : call.operation.transfers()) {
    shown->bytes += transfer.size_bytes();
    shown->transfers.push_back({.is_send = transfer.send(),
                                .peer = transfer.peer(),
                                .bytes = transfer.size_bytes(),
                                .sequence = transfer.sequence()});
  }
  return shown;
}

timeline::Collective CollectiveCalls::TakeShown() {
  CHECK(resolving_shown_ != nullptr);
  const std::unique_ptr<timeline::Collective> shown = std::move(resolving_shown_);
  shown->basis = resolving_.basis;
  shown->name = resolving_.name;
  return std::move(*shown);
}

void CollectiveCalls::FillPost(std::uint64_t token, SimTime ready, v1::Post* post) const {
  const OpenCall& call = open_.at(token);
  const Communicator& communicator = communicators_->at(call.communicator);
  post->set_communicator(communicator.service);
  post->set_sequence(call.name.sequence);
  post->set_point_to_point(call.name.point_to_point);
  post->set_rank(communicator.rank);
  post->set_ready_picoseconds(static_cast<std::uint64_t>(ready.ps));
}

void CollectiveCalls::Post(std::uint64_t token, SimTime ready) {
  v1::SessionRequest message;
  FillPost(token, host_->ClampReady(ready), message.mutable_post());
  host_->SendToNetwork(std::move(message));
}

void CollectiveCalls::TellBound(std::uint64_t token, SimTime ready) {
  v1::SessionRequest message;
  FillPost(token, ready, message.mutable_not_before());
  host_->SendToNetwork(std::move(message));
}

bool CollectiveCalls::Bound(const v1::NotBefore& bound) {
  const CallName name{.point_to_point = true, .sequence = bound.sequence()};
  for (auto& [id, communicator] : communicators_->all()) {
    if (communicator.service != bound.communicator() || communicator.rank != bound.rank()) continue;
    const auto open = communicator.open.find(name);
    if (open == communicator.open.end()) return false;
    engine_->BoundCollective(open->second,
                             SimTime{static_cast<std::int64_t>(bound.end_picoseconds())});
    return true;
  }
  return false;
}

bool CollectiveCalls::Commit(const Commitment& commitment) {
  const CallName name{.point_to_point = commitment.member >= 0, .sequence = commitment.sequence};
  bool known = false;
  for (auto& [id, communicator] : communicators_->all()) {
    if (communicator.service != commitment.communicator) continue;
    if (commitment.member >= 0 && commitment.member != communicator.rank) continue;
    const auto open = communicator.open.find(name);
    if (open == communicator.open.end()) continue;
    const std::uint64_t token = open->second;
    communicator.open.erase(open);
    resolving_ = {.basis = commitment.basis, .name = open_.at(token).name_number};
    resolving_shown_ = std::move(open_.at(token).shown);
    if (resolving_shown_ != nullptr) {
      resolving_shown_->links.assign(commitment.links.begin(), commitment.links.end());
    }
    open_.erase(token);
    known = engine_->ResolveCollective(token, commitment.start, commitment.finish) || known;
  }
  return known;
}

std::string CollectiveCalls::DescribeOpen() const {
  std::string text;
  for (const auto& [id, communicator] : communicators_->all()) {
    if (communicator.open.empty()) continue;
    const auto& [call, token] = *communicator.open.begin();
    const std::string& name = host_->costs().name(open_.at(token).name_number);
    text += StrCat("; not finished: call ", call.sequence, " (", name, ") of communicator ", id);
  }
  return text;
}

}  // namespace eidolon::agent::session
