// A record holds what one NCCL group made. Its sends and receives depend on each other and become
// one call; each collective is a call of its own that knows its place in the group. The payloads
// lie behind each other in the order of the operations. If one send of a group has no bytes, the
// whole group has none, since the receiver could not tell the parts apart. CountCalls must agree
// with CallsOf: graphs reserve a node for each call by it.
#include "services/agent/session/prepared_call.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
namespace v1 = network::v1;

namespace {

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

}  // namespace

std::vector<PreparedCall> CallsOf(std::span<const wire::CommunicationOp> ops,
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
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].group_index = static_cast<std::uint32_t>(i);
    calls[i].group_size = static_cast<std::uint32_t>(calls.size());
  }
  if (group.has_value()) {
    group->operation.set_kind(v1::COLLECTIVE_KIND_POINT_TO_POINT);
    group->operation.set_root(-1);
    calls.push_back(std::move(*group));
  }
  return calls;
}

std::size_t CountCalls(std::span<const wire::CommunicationOp> ops) {
  const auto transfers =
      static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), IsTransfer));
  return ops.size() - transfers + (transfers > 0 ? 1 : 0);
}

}  // namespace eidolon::agent::session
