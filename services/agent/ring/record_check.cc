#include "services/agent/ring/record_check.h"

#include <cstring>

#include "services/agent/ring/definition.h"
#include "services/base/text.h"
#include "services/ring/layout.h"

namespace eidolon::agent::ring {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using wire::RecordKind;

namespace {

// A pebibyte: beyond it nothing is a program's doing, and sums could overflow.
constexpr std::int64_t kBookedMaxBytes = std::int64_t{1} << 50;

struct Shape {
  std::string_view name;
  std::size_t fixed_bytes;
  bool has_slot;
};

Shape ShapeOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kPad:
      return {"pad", sizeof(wire::RecordHeader), false};
    case RecordKind::kDefineWork:
      return {"define work", sizeof(wire::DefineWork), false};
    case RecordKind::kStreamCreate:
      return {"stream create", sizeof(wire::StreamRecord), false};
    case RecordKind::kStreamDestroy:
      return {"stream destroy", sizeof(wire::StreamRecord), false};
    case RecordKind::kEventCreate:
      return {"event create", sizeof(wire::EventRecord), false};
    case RecordKind::kEventDestroy:
      return {"event destroy", sizeof(wire::EventRecord), false};
    case RecordKind::kGraphDefine:
      return {"graph define", sizeof(wire::GraphDefine), false};
    case RecordKind::kGraphDestroy:
      return {"graph destroy", sizeof(wire::GraphRecord), false};
    case RecordKind::kLaunch:
      return {"launch", sizeof(wire::LaunchRecord), false};
    case RecordKind::kEventRecord:
      return {"event record", sizeof(wire::EventRecord), false};
    case RecordKind::kStreamWaitEvent:
      return {"stream wait event", sizeof(wire::EventRecord), false};
    case RecordKind::kHostCallback:
      return {"host callback", sizeof(wire::CallbackRecord), false};
    case RecordKind::kGraphLaunch:
      return {"graph launch", sizeof(wire::GraphRecord), false};
    case RecordKind::kCommunication:
      return {"communication", sizeof(wire::CommunicationRecord), false};
    case RecordKind::kSynchronizeStream:
      return {"synchronize stream", sizeof(wire::WaitRecord), true};
    case RecordKind::kSynchronizeDevice:
      return {"synchronize device", sizeof(wire::WaitRecord), true};
    case RecordKind::kSynchronizeEvent:
      return {"synchronize event", sizeof(wire::WaitRecord), true};
    case RecordKind::kQueryStream:
      return {"query stream", sizeof(wire::WaitRecord), true};
    case RecordKind::kQueryEvent:
      return {"query event", sizeof(wire::WaitRecord), true};
    case RecordKind::kElapsedTime:
      return {"elapsed time", sizeof(wire::WaitRecord), true};
    case RecordKind::kWaitUntil:
      return {"wait until", sizeof(wire::WaitRecord), true};
    case RecordKind::kCommunicatorInit:
      return {"communicator init", sizeof(wire::CommunicatorInit), true};
    case RecordKind::kCommunicatorSplit:
      return {"communicator split", sizeof(wire::CommunicatorSplit), true};
    case RecordKind::kCommunicatorDestroy:
      return {"communicator destroy", sizeof(wire::CommunicatorRecord), false};
    case RecordKind::kCollectiveValues:
      return {"collective values", sizeof(wire::WaitRecord), true};
    case RecordKind::kMemory:
      return {"memory", sizeof(wire::MemoryRecord), false};
    case RecordKind::kOutOfMemory:
      return {"out of memory", sizeof(wire::MemoryRecord), false};
    case RecordKind::kRangePush:
      return {"range push", sizeof(wire::MarkRecord), false};
    case RecordKind::kRangePop:
      return {"range pop", sizeof(wire::MarkRecord), false};
    case RecordKind::kRefusedCall:
      return {"refused call", sizeof(wire::MarkRecord), false};
    case RecordKind::kUnknownRead:
    case RecordKind::kUnknownSource:
      return {"unknown read", sizeof(wire::MarkRecord), false};
    case RecordKind::kCount:
      break;
  }
  return {"unknown", 0, false};
}

template <typename T>
const T& As(std::span<const std::byte> record) {
  return *reinterpret_cast<const T*>(record.data());
}

std::unexpected<base::Error> Damaged(RecordKind kind, const std::string& what) {
  return Fail(ErrorCode::kCorrupt, StrCat(Name(kind), " record: ", what));
}

Result<void> CheckTail(std::span<const std::byte> record, std::uint64_t needed) {
  if (needed <= record.size()) return {};
  return Damaged(As<wire::RecordHeader>(record).kind,
                 StrCat("its tail needs ", needed, " bytes, it has ", record.size()));
}

Result<void> CheckGraph(std::span<const std::byte> record) {
  const auto& graph = As<wire::GraphDefine>(record);
  const std::uint64_t needed = sizeof(graph) +
                               std::uint64_t{graph.node_count} * sizeof(wire::GraphNode) +
                               std::uint64_t{graph.dependency_count} * sizeof(std::uint32_t);
  if (auto fits = CheckTail(record, needed); !fits) return fits;
  const auto* nodes = reinterpret_cast<const wire::GraphNode*>(record.data() + sizeof(graph));
  const auto* dependencies = reinterpret_cast<const std::uint32_t*>(nodes + graph.node_count);
  for (std::uint32_t i = 0; i < graph.node_count; ++i) {
    const wire::GraphNode& node = nodes[i];
    if (node.kind > wire::GraphNodeKind::kCommunication) {
      return Damaged(graph.header.kind,
                     StrCat("node ", i, " has kind ", static_cast<std::uint32_t>(node.kind)));
    }
    if (std::uint64_t{node.first_dependency} + node.dependency_count > graph.dependency_count) {
      return Damaged(graph.header.kind, StrCat("node ", i, " has dependencies beyond the list"));
    }
    for (std::uint32_t d = 0; d < node.dependency_count; ++d) {
      const std::uint32_t dependency = dependencies[node.first_dependency + d];
      if (dependency >= i) {
        return Damaged(graph.header.kind, StrCat("node ", i, " depends on node ", dependency,
                                                 ", which is not before it"));
      }
    }
  }
  return {};
}

Result<void> CheckCommunication(std::span<const std::byte> record) {
  const auto& call = As<wire::CommunicationRecord>(record);
  const std::uint64_t needed = sizeof(call) +
                               std::uint64_t{call.op_count} * sizeof(wire::CommunicationOp) +
                               call.payload_bytes;
  if (auto fits = CheckTail(record, needed); !fits) return fits;
  if (call.op_count == 0) return Damaged(call.header.kind, "it has no operation");
  const auto* ops = reinterpret_cast<const wire::CommunicationOp*>(record.data() + sizeof(call));
  std::uint64_t payload = 0;
  for (std::uint32_t i = 0; i < call.op_count; ++i) {
    if (ops[i].kind > wire::CommunicationKind::kReceive) {
      return Damaged(call.header.kind, StrCat("operation ", i, " has kind ",
                                              static_cast<std::uint32_t>(ops[i].kind)));
    }
    payload += ops[i].payload_bytes;
  }
  if (payload != call.payload_bytes) {
    return Damaged(call.header.kind, StrCat("its operations' payloads have ", payload,
                                            " bytes, it says ", call.payload_bytes));
  }
  return {};
}

Result<void> CheckBooking(std::span<const std::byte> record) {
  const auto& memory = As<wire::MemoryRecord>(record);
  if (memory.delta >= -kBookedMaxBytes && memory.delta <= kBookedMaxBytes) return {};
  return Damaged(memory.header.kind, StrCat("it books ", memory.delta, " bytes"));
}

}  // namespace

std::string_view Name(RecordKind kind) { return ShapeOf(kind).name; }

std::string_view NameAfter(const wire::MarkRecord& record) {
  return {reinterpret_cast<const char*>(&record + 1), record.name_bytes};
}

Result<void> CheckRecord(std::span<const std::byte> record, std::uint32_t device_count) {
  const auto& header = As<wire::RecordHeader>(record);
  const Shape shape = ShapeOf(header.kind);
  if (shape.fixed_bytes == 0) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("record kind ", static_cast<std::uint32_t>(header.kind), " is unknown"));
  }
  if (record.size() < shape.fixed_bytes) {
    return Damaged(header.kind, StrCat("it has ", record.size(), " bytes, at least ",
                                       shape.fixed_bytes, " are needed"));
  }
  if (header.device >= device_count) {
    return Damaged(header.kind,
                   StrCat("device ", header.device, " does not exist, there are ", device_count));
  }
  if (header.host_clock_ps > kClockMaxPs) {
    return Damaged(header.kind, StrCat("its clock is ", header.host_clock_ps));
  }
  if (shape.has_slot) {
    std::uint32_t slot = 0;  // First field after the header in all questions.
    std::memcpy(&slot, record.data() + sizeof(header), sizeof(slot));
    if (slot >= wire::kReplySlots) {
      return Damaged(header.kind, StrCat("reply slot ", slot, " does not exist"));
    }
  }
  switch (header.kind) {
    case RecordKind::kDefineWork: {
      const auto& define = As<wire::DefineWork>(record);
      const auto fits = CheckTail(record, sizeof(define) + std::uint64_t{define.definition_bytes});
      if (!fits) return fits;
      return CheckDefinition(record.subspan(sizeof(define), define.definition_bytes));
    }
    case RecordKind::kGraphDefine:
      return CheckGraph(record);
    case RecordKind::kCommunication:
      return CheckCommunication(record);
    case RecordKind::kRangePush:
    case RecordKind::kRangePop:
    case RecordKind::kRefusedCall:
    case RecordKind::kUnknownRead:
    case RecordKind::kUnknownSource:
      return CheckTail(record, sizeof(wire::MarkRecord) +
                                   std::uint64_t{As<wire::MarkRecord>(record).name_bytes});
    case RecordKind::kMemory:
    case RecordKind::kOutOfMemory:
      if (As<wire::MemoryRecord>(record).category > wire::MemoryCategory::kManaged) {
        return Damaged(header.kind, "its category is unknown");
      }
      if (header.kind == RecordKind::kMemory) return CheckBooking(record);
      return {};
    default:
      return {};
  }
}

}  // namespace eidolon::agent::ring
