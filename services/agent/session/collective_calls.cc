// Communicators: joining, issuing collectives and groups, small results.
#include <algorithm>
#include <cstring>
#include <utility>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/session/session.h"
#include "services/base/text.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
namespace v1 = network::v1;
using base::ErrorCode;
using base::Fail;
using base::SimTime;
using base::StrCat;
using wire::ReplyStatus;

namespace {

// Results that nobody asked for are forgotten beyond this, the oldest first.
constexpr std::size_t kKeptValueBytes = 16 << 20;
constexpr std::size_t kKeptValues = 1 << 16;

bool IsTransfer(const wire::CommunicationOp& op) {
  return op.kind == wire::CommunicationKind::kSend || op.kind == wire::CommunicationKind::kReceive;
}

v1::CollectiveKind KindOf(wire::CommunicationKind kind) {
  switch (kind) {
    case wire::CommunicationKind::kAllReduce:
      return v1::COLLECTIVE_KIND_ALL_REDUCE;
    case wire::CommunicationKind::kAllGather:
      return v1::COLLECTIVE_KIND_ALL_GATHER;
    case wire::CommunicationKind::kReduceScatter:
      return v1::COLLECTIVE_KIND_REDUCE_SCATTER;
    case wire::CommunicationKind::kBroadcast:
      return v1::COLLECTIVE_KIND_BROADCAST;
    case wire::CommunicationKind::kReduce:
      return v1::COLLECTIVE_KIND_REDUCE;
    case wire::CommunicationKind::kAllToAll:
      return v1::COLLECTIVE_KIND_ALL_TO_ALL;
    case wire::CommunicationKind::kGather:
      return v1::COLLECTIVE_KIND_GATHER;
    case wire::CommunicationKind::kScatter:
      return v1::COLLECTIVE_KIND_SCATTER;
    case wire::CommunicationKind::kSend:
    case wire::CommunicationKind::kReceive:
      return v1::COLLECTIVE_KIND_POINT_TO_POINT;
  }
  return v1::COLLECTIVE_KIND_UNSPECIFIED;
}

std::string TextOf(const char* text, std::size_t limit) { return {text, strnlen(text, limit)}; }

// A question about a forgotten result finds no place any more and is refused.
void ForgetOldValues(Communicator* communicator) {
  auto& values = communicator->values;
  while (communicator->value_bytes > kKeptValueBytes || values.size() > kKeptValues) {
    const CallName call = values.begin()->first;
    communicator->value_bytes -= values.begin()->second.payload.size();
    values.erase(values.begin());
    std::erase_if(communicator->places,
                  [&](const auto& place) { return place.second.call == call; });
  }
}

// Group names may hold anything; protocol strings must be UTF-8.
std::string PlainText(const char* text, std::size_t limit) {
  std::string plain = TextOf(text, limit);
  for (char& c : plain) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return plain;
}

}  // namespace

// One call of a communicator, ready to be issued.
struct Session::PreparedCall {
  v1::Operation operation;
  bool point_to_point = false;
  std::string payload;
  bool has_payload = true;
  std::vector<wire::CommunicationOp> ops;
  SessionHost::CollectiveEstimate estimate;
};

Session::Outcome Session::JoinCommunicator(const ring::RecordView& record) {
  const auto& init = record.As<wire::CommunicatorInit>();
  if (communicators_.contains(init.communicator)) {
    return Fail(ErrorCode::kCorrupt, StrCat("communicator ", init.communicator, " exists already"));
  }
  if (auto taken = intake_.TakeSlot(record); !taken) return std::unexpected(taken.error());
  StartDriving();
  const std::int32_t rank = host_->CommunicatorEntered(
      *this, {.unique_id = std::string(init.unique_id, sizeof(init.unique_id)),
              .size = init.size,
              .rank = init.rank});
  const std::uint64_t request = host_->NewRequest(*this);
  v1::SessionRequest message;
  v1::Join* join = message.mutable_join();
  join->set_request(request);
  join->set_unique_id(init.unique_id, sizeof(init.unique_id));
  join->set_size(init.size);
  join->set_rank(init.rank);
  join->mutable_member()->set_global_rank(rank);
  join->mutable_member()->set_server(options_.server);
  join->mutable_member()->set_device(record.header().device);
  join->set_ready_picoseconds(record.header().host_clock_ps);
  join->set_name(PlainText(init.name, sizeof(init.name)));
  communicators_[init.communicator] = {.rank = init.rank, .size = init.size};
  joins_[request] = {.slot = init.slot, .communicator = init.communicator, .is_split = false};
  host_->horizon().BeginNetworkWait(options_.number, init.slot);
  host_->SendToNetwork(std::move(message));
  return Applied::kYes;
}

Session::Outcome Session::SplitCommunicator(const ring::RecordView& record) {
  const auto& split = record.As<wire::CommunicatorSplit>();
  const auto parent = FindCommunicator(split.parent);
  if (!parent) return std::unexpected(parent.error());
  if (communicators_.contains(split.communicator)) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("communicator ", split.communicator, " exists already"));
  }
  if (auto taken = intake_.TakeSlot(record); !taken) return std::unexpected(taken.error());
  const std::uint64_t request = host_->NewRequest(*this);
  v1::SessionRequest message;
  v1::Split* body = message.mutable_split();
  body->set_request(request);
  body->set_parent((*parent)->service);
  body->set_parent_rank((*parent)->rank);
  body->set_color(split.color);
  body->set_key(split.key);
  body->set_ready_picoseconds(record.header().host_clock_ps);
  body->set_name(PlainText(split.name, sizeof(split.name)));
  joins_[request] = {.slot = split.slot, .communicator = split.communicator, .is_split = true};
  host_->horizon().BeginNetworkWait(options_.number, split.slot);
  host_->SendToNetwork(std::move(message));
  return Applied::kYes;
}

void Session::OnJoined(const v1::Joined& joined) {
  const auto found = joins_.find(joined.request());
  if (found == joins_.end()) return;  // The process is gone.
  const OpenJoin join = found->second;
  joins_.erase(found);
  Communicator& communicator = communicators_[join.communicator];
  communicator.service = joined.communicator();
  communicator.rank = joined.rank();
  communicator.size = joined.size();
  communicator.channels = joined.channels();
  std::vector<std::uint32_t> ranks(joined.parent_ranks().begin(), joined.parent_ranks().end());
  const std::uint64_t place =
      static_cast<std::uint64_t>(joined.rank()) << 32 | static_cast<std::uint32_t>(joined.size());
  last_reply_ =
      std::max(last_reply_, SimTime{static_cast<std::int64_t>(joined.finish_picoseconds())});
  last_reply_sequence_ = engine_.issued();
  Reply(join.slot, {.value_ps = joined.finish_picoseconds(),
                    .extra = joined.communicator() == 0 ? 0 : place,
                    .payload = std::as_bytes(std::span(ranks))});
}

void Session::OnJoinFailed(std::uint64_t request, const std::string& reason) {
  const auto found = joins_.find(request);
  if (found == joins_.end()) return;
  const std::uint32_t slot = found->second.slot;
  joins_.erase(found);
  Reply(slot, {.status = ReplyStatus::kCollectiveError,
               .payload = std::as_bytes(std::span(reason.data(), reason.size()))});
}

void Session::OnCommunicatorFailed(std::uint64_t service, const std::string& reason) {
  for (auto& [id, communicator] : communicators_) {
    if (communicator.service != service) continue;
    for (const auto& asked : communicator.asked) {
      Reply(asked.slot, {.status = ReplyStatus::kCollectiveError,
                         .payload = std::as_bytes(std::span(reason.data(), reason.size()))});
    }
    communicator.asked.clear();
  }
}

Session::Outcome Session::LeaveCommunicator(const ring::RecordView& record) {
  const auto& leave = record.As<wire::CommunicatorRecord>();
  const auto communicator = FindCommunicator(leave.communicator);
  if (!communicator) return std::unexpected(communicator.error());
  v1::SessionRequest message;
  message.mutable_leave()->set_communicator((*communicator)->service);
  message.mutable_leave()->set_rank((*communicator)->rank);
  host_->SendToNetwork(std::move(message));
  // What it has issued still ends; the record goes when nothing is open.
  if ((*communicator)->open.empty()) communicators_.erase(leave.communicator);
  return Applied::kYes;
}

base::Result<Communicator*> Session::FindCommunicator(std::uint32_t id) {
  const auto found = communicators_.find(id);
  if (found == communicators_.end() || found->second.service == 0) {
    return Fail(ErrorCode::kCorrupt, StrCat("communicator ", id, " does not exist"));
  }
  return &found->second;
}

// Sorts a record's operations into calls: each collective is one, all sends and receives together
// are one. Nothing when an estimate is not known yet.
base::Result<std::optional<std::vector<Session::PreparedCall>>> Session::Prepare(
    Communicator* communicator, std::span<const wire::CommunicationOp> ops,
    std::span<const std::byte> payload) {
  std::vector<PreparedCall> calls;
  std::optional<PreparedCall> group;
  std::size_t at = 0;
  for (const wire::CommunicationOp& op : ops) {
    const std::string bytes(reinterpret_cast<const char*>(payload.data()) + at, op.payload_bytes);
    at += op.payload_bytes;
    if (IsTransfer(op)) {
      if (!group.has_value()) group.emplace().point_to_point = true;
      const bool is_send = op.kind == wire::CommunicationKind::kSend;
      v1::Transfer* transfer = group->operation.add_transfers();
      transfer->set_send(is_send);
      transfer->set_peer(op.peer);
      transfer->set_size_bytes(op.bytes);
      group->payload += bytes;
      if (is_send && op.bytes != op.payload_bytes) group->has_payload = false;
      group->ops.push_back(op);
      continue;
    }
    PreparedCall& call = calls.emplace_back();
    call.operation.set_root(op.peer);
    call.operation.set_kind(KindOf(op.kind));
    call.operation.set_data_type(op.data_type);
    call.operation.set_reduction(op.reduction);
    call.operation.set_count(op.count);
    call.operation.set_size_bytes(op.bytes);
    call.payload = bytes;
    call.has_payload = op.payload_bytes > 0;
    call.ops.push_back(op);
  }
  if (group.has_value()) {
    group->operation.set_kind(v1::COLLECTIVE_KIND_POINT_TO_POINT);
    group->operation.set_root(-1);
    calls.push_back(std::move(*group));
  }
  bool complete = true;
  for (PreparedCall& call : calls) {
    const auto estimate = host_->FindEstimate(communicator->service, call.operation);
    if (estimate.has_value()) call.estimate = *estimate;
    complete = complete && estimate.has_value();
  }
  if (!complete) return std::nullopt;
  return calls;
}

Session::Outcome Session::Communicate(const ring::RecordView& record) {
  const auto& header = record.As<wire::CommunicationRecord>();
  const auto* first = reinterpret_cast<const wire::CommunicationOp*>(&header + 1);
  const std::span ops(first, header.op_count);
  const auto communicator = FindCommunicator(header.communicator);
  if (!communicator) return std::unexpected(communicator.error());
  if (header.template_id != 0) {
    // Graphs that were made of it count its calls.
    if (templates_.contains(header.template_id)) {
      return Fail(ErrorCode::kCorrupt,
                  StrCat("communication record: template ", header.template_id, " exists already"));
    }
    Template made{.communicator = header.communicator, .ops = {ops.begin(), ops.end()}};
    // What a launch sends is not what was there at capture: its values are not known.
    for (wire::CommunicationOp& op : made.ops) op.payload_bytes = 0;
    templates_[header.template_id] = std::move(made);
    return Applied::kYes;
  }
  const std::span payload(reinterpret_cast<const std::byte*>(first + header.op_count),
                          header.payload_bytes);
  auto calls = Prepare(*communicator, ops, payload);
  if (!calls) return std::unexpected(calls.error());
  if (!calls->has_value()) return Applied::kStalled;
  const auto call = CallOf(record.header(), header.stream);
  for (PreparedCall& prepared : **calls) {
    FeedDetector(~static_cast<std::uint32_t>(prepared.operation.kind()), iteration::Update::kNo,
                 engine_.issued(), call.host_clock);
    const device::Collective collective = Issue(header.communicator, *communicator, &prepared);
    if (auto done = engine_.Issue(call, collective); !done) return std::unexpected(done.error());
  }
  return Applied::kYes;
}

// Numbers the call, tells the network about it, and returns what the engine needs.
device::Collective Session::Issue(std::uint32_t id, Communicator* communicator,
                                  PreparedCall* call) {
  const CallName name{.point_to_point = call->point_to_point,
                      .sequence = call->point_to_point ? communicator->next_group++
                                                       : communicator->next_collective++};
  std::size_t offset = 0;
  for (std::size_t i = 0; i < call->ops.size(); ++i) {
    const wire::CommunicationOp& op = call->ops[i];
    const bool is_send = op.kind == wire::CommunicationKind::kSend;
    const bool is_small = op.bytes <= wire::ValueBytesMax(op);
    if (!call->point_to_point) {
      if (is_small) communicator->places[op.sequence] = {.call = name};
      continue;
    }
    call->operation.mutable_transfers(static_cast<int>(i))
        ->set_sequence(communicator->next_transfer[{op.peer, is_send}]++);
    if (is_send) continue;
    if (is_small) {
      communicator->places[wire::ReceiveValues(op.peer, op.sequence)] = {
          .call = name, .offset = offset, .bytes = op.bytes};
    }
    offset += op.bytes;
  }
  v1::SessionRequest message;
  v1::Issue* issue = message.mutable_issue();
  issue->set_communicator(communicator->service);
  issue->set_sequence(name.sequence);
  issue->set_rank(communicator->rank);
  issue->set_has_payload(call->has_payload);
  if (call->has_payload) issue->set_payload(std::move(call->payload));
  *issue->mutable_operation() = call->operation;
  host_->SendToNetwork(std::move(message));

  const std::uint64_t token = next_token_++;
  communicator->open[name] = token;
  const auto kind = static_cast<v1::CollectiveKind>(call->operation.kind());
  calls_[token] = {.communicator = id,
                   .name = name,
                   .name_number = host_->costs().InternName(v1::CollectiveKind_Name(kind))};
  return {.communicator = id,
          .token = token,
          .estimate = call->estimate.duration,
          .channels = call->estimate.channels};
}

Session::Outcome Session::LaunchGraph(const ring::RecordView& record) {
  const auto& launch = record.As<wire::GraphRecord>();
  const auto found = graphs_.find(launch.graph);
  if (found == graphs_.end()) {
    return Fail(ErrorCode::kCorrupt, StrCat("graph ", launch.graph, " does not exist"));
  }
  const GraphShape& shape = found->second;
  std::vector<std::pair<const Template*, std::vector<PreparedCall>>> prepared;
  for (const std::uint32_t id : shape.templates) {
    const Template& made = templates_.at(id);
    const auto communicator = FindCommunicator(made.communicator);
    if (!communicator) return std::unexpected(communicator.error());
    auto calls = Prepare(*communicator, made.ops, {});
    if (!calls) return std::unexpected(calls.error());
    if (!calls->has_value()) return Applied::kStalled;
    prepared.emplace_back(&made, std::move(**calls));
  }
  const auto call = CallOf(record.header(), launch.stream);
  std::uint64_t sequence = engine_.issued();
  for (const GraphShape::Node& node : shape.nodes) {
    FeedDetector(node.identity, node.update, sequence++, call.host_clock);
  }
  std::vector<device::Collective> collectives;
  for (auto& [made, calls] : prepared) {
    Communicator* communicator = &communicators_.at(made->communicator);
    for (PreparedCall& prepared_call : calls) {
      collectives.push_back(Issue(made->communicator, communicator, &prepared_call));
    }
  }
  CountLaunch(record.header().device);
  auto done = engine_.LaunchGraph(call, launch.graph, collectives);
  if (!done) return std::unexpected(done.error());
  return Applied::kYes;
}

bool Session::OnCommitted(const Commitment& commitment) {
  const CallName name{.point_to_point = commitment.member >= 0, .sequence = commitment.sequence};
  bool known = false;
  for (auto& [id, communicator] : communicators_) {
    if (communicator.service != commitment.communicator) continue;
    if (commitment.member >= 0 && commitment.member != communicator.rank) continue;
    const auto open = communicator.open.find(name);
    if (open == communicator.open.end()) continue;
    const std::uint64_t token = open->second;
    communicator.open.erase(open);
    resolving_basis_ = commitment.basis;
    resolving_name_ = calls_.at(token).name_number;
    calls_.erase(token);
    known = engine_.ResolveCollective(token, commitment.start, commitment.finish) || known;
  }
  if (known) {
    SettleWaits();
    ReportIterations();
  }
  return known;
}

Session::Outcome Session::AskValues(const wire::WaitRecord& record) {
  const auto communicator = FindCommunicator(static_cast<std::uint32_t>(record.id));
  if (!communicator) return std::unexpected(communicator.error());
  const auto place = (*communicator)->places.find(record.id2);
  if (place == (*communicator)->places.end()) {
    Reply(record.slot, {.status = ReplyStatus::kInvalid});
    return Applied::kYes;
  }
  const Communicator::Asked asked{.slot = record.slot, .place = place->second};
  if (AnswerValue(**communicator, asked)) return Applied::kYes;
  if (record.observer != 0) {
    Reply(record.slot, {.status = ReplyStatus::kNotReady});
  } else {
    (*communicator)->asked.push_back(asked);
  }
  return Applied::kYes;
}

bool Session::AnswerValue(const Communicator& communicator, const Communicator::Asked& asked) {
  const auto value = communicator.values.find(asked.place.call);
  if (value == communicator.values.end()) return false;
  std::string_view bytes;
  if (value->second.known) bytes = value->second.payload;
  if (asked.place.bytes > 0) {
    bytes = bytes.substr(std::min(asked.place.offset, bytes.size()), asked.place.bytes);
  }
  Reply(asked.slot, {.payload = std::as_bytes(std::span(bytes.data(), bytes.size()))});
  return true;
}

void Session::OnValues(const v1::Values& values) {
  for (auto& [id, communicator] : communicators_) {
    if (communicator.service != values.communicator() || communicator.rank != values.rank()) {
      continue;
    }
    communicator.value_bytes += values.payload().size();
    communicator
        .values[{.point_to_point = values.point_to_point(), .sequence = values.sequence()}] = {
        .known = values.known(), .payload = values.payload()};
    std::erase_if(communicator.asked,
                  [&](const auto& asked) { return AnswerValue(communicator, asked); });
    ForgetOldValues(&communicator);
  }
}

}  // namespace eidolon::agent::session
