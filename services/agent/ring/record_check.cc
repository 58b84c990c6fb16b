// After this check a reader may use every size, count and index of a record without a further test,
// so a new field needs its check here before any use. Limits are far beyond any program (a
// pebibyte, 53 days): a check must never fail on a real one. Sums are taken in 64 bits, because two
// 32-bit counts can overflow together. What depends on earlier records, such as identifiers, is the
// session's to check.
#include "services/agent/ring/record_check.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>

#include "services/base/text.h"
#include "services/contract/folding/rank_runs.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/program_inputs.h"
#include "services/contract/workload/definition.h"

namespace eidolon::agent::ring {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using wire::RecordKind;

namespace {

// NCCL's own numbers; newer versions add a few.
constexpr std::uint32_t kDataTypes = 32;
constexpr std::int32_t kMostMembers = 1 << 24;
constexpr std::uint64_t kInputsMax = std::uint64_t{1} << 40;  // Samples or tokens of a call.

struct Shape {
  std::string_view name;
  std::size_t fixed_bytes;
  bool has_slot;
};

// Shapes by kind.
constexpr Shape kShapes[] = {
    {"pad", sizeof(wire::RecordHeader), false},
    {"define work", sizeof(wire::DefineWork), false},
    {"stream create", sizeof(wire::StreamRecord), false},
    {"stream destroy", sizeof(wire::StreamRecord), false},
    {"event create", sizeof(wire::EventRecord), false},
    {"event destroy", sizeof(wire::EventRecord), false},
    {"graph define", sizeof(wire::GraphDefine), false},
    {"graph destroy", sizeof(wire::GraphRecord), false},
    {"launch", sizeof(wire::LaunchRecord), false},
    {"event record", sizeof(wire::EventRecord), false},
    {"stream wait event", sizeof(wire::EventRecord), false},
    {"host callback", sizeof(wire::CallbackRecord), false},
    {"graph launch", sizeof(wire::GraphRecord), false},
    {"communication", sizeof(wire::CommunicationRecord), false},
    {"synchronize stream", sizeof(wire::WaitRecord), true},
    {"synchronize device", sizeof(wire::WaitRecord), true},
    {"synchronize event", sizeof(wire::WaitRecord), true},
    {"query stream", sizeof(wire::WaitRecord), true},
    {"query event", sizeof(wire::WaitRecord), true},
    {"elapsed time", sizeof(wire::WaitRecord), true},
    {"wait until", sizeof(wire::WaitRecord), true},
    {"communicator init", sizeof(wire::CommunicatorInit), true},
    {"communicator split", sizeof(wire::CommunicatorSplit), true},
    {"communicator destroy", sizeof(wire::CommunicatorRecord), false},
    {"collective values", sizeof(wire::WaitRecord), true},
    {"memory", sizeof(wire::MemoryRecord), false},
    {"out of memory", sizeof(wire::MemoryRecord), false},
    {"range push", sizeof(wire::MarkRecord), false},
    {"range pop", sizeof(wire::MarkRecord), false},
    {"refused call", sizeof(wire::MarkRecord), false},
    {"unknown read", sizeof(wire::MarkRecord), false},
    {"unknown source", sizeof(wire::MarkRecord), false},
    {"damage", sizeof(wire::MarkRecord), false},
    {"activity", sizeof(wire::WaitRecord), true},
    {"activations", sizeof(wire::MemoryRecord), false},
    {"guessed values", sizeof(wire::MarkRecord), false},
    {"sensors", sizeof(wire::WaitRecord), true},
    {"inputs", sizeof(wire::InputsRecord), false},
    {"Python line", sizeof(wire::MarkRecord), false},
    {"memory block", sizeof(wire::MemoryBlockRecord), false},
    {"optimizer tensors", sizeof(wire::OptimizerTensorsRecord), false},
};
static_assert(std::size(kShapes) == static_cast<std::size_t>(RecordKind::kCount));

Shape ShapeOf(RecordKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return number < std::size(kShapes) ? kShapes[number] : Shape{"unknown", 0, false};
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

// Empty: none.
std::string FaultOf(const wire::CommunicationOp& op) {
  if (op.kind > wire::CommunicationKind::kReceive) {
    return StrCat("kind ", static_cast<std::uint32_t>(op.kind));
  }
  if (op.data_type >= kDataTypes) return StrCat("data type ", op.data_type);
  if (op.peer < -1 || op.peer >= kMostMembers) return StrCat("peer ", op.peer);
  if (op.bytes > kBookedMaxBytes || op.count > op.bytes) {
    return StrCat(op.count, " elements in ", op.bytes, " bytes");
  }
  if (op.payload_bytes > op.bytes) {
    return StrCat("values of ", op.payload_bytes, " bytes, but only ", op.bytes, " to send");
  }
  return {};
}

Result<void> CheckSplit(std::span<const std::byte> record) {
  const auto& split = As<wire::CommunicatorSplit>(record);
  const std::uint64_t tail = std::uint64_t{split.member_runs} * sizeof(folding::RankRun);
  return CheckTail(record, sizeof(split) + tail);
}

Result<void> CheckMembership(std::span<const std::byte> record) {
  const auto& init = As<wire::CommunicatorInit>(record);
  const std::uint64_t tail = std::uint64_t{init.member_runs} * sizeof(folding::RankRun);
  if (auto fits = CheckTail(record, sizeof(init) + tail); !fits) return fits;
  if (init.size >= 1 && init.size <= kMostMembers && init.rank >= 0 && init.rank < init.size) {
    return {};
  }
  return Damaged(init.header.kind, StrCat("rank ", init.rank, " of ", init.size));
}

Result<void> CheckSlot(std::span<const std::byte> record) {
  const auto& header = As<wire::RecordHeader>(record);
  std::uint32_t slot = 0;  // First field after the header in all questions.
  std::memcpy(&slot, record.data() + sizeof(header), sizeof(slot));
  if (slot < wire::kReplySlots) return {};
  return Damaged(header.kind, StrCat("reply slot ", slot, " does not exist"));
}

Result<void> CheckWork(std::span<const std::byte> record) {
  const auto& define = As<wire::DefineWork>(record);
  const auto fits = CheckTail(record, sizeof(define) + std::uint64_t{define.definition_bytes});
  if (!fits) return fits;
  return workload::CheckDefinition(record.subspan(sizeof(define), define.definition_bytes));
}

Result<void> CheckQuestion(std::span<const std::byte> record) {
  const auto& question = As<wire::WaitRecord>(record);
  if (question.observer > 1) {
    return Damaged(question.header.kind, StrCat("its observer is ", question.observer));
  }
  const RecordKind kind = question.header.kind;
  const bool names_two = kind == RecordKind::kElapsedTime;
  const std::uint64_t id = std::max(question.id, names_two ? question.id2 : 0);
  if (kind == RecordKind::kWaitUntil || id <= std::numeric_limits<std::uint32_t>::max()) return {};
  return Damaged(kind, StrCat("it names ", id));
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
    if (const std::string wrong = FaultOf(ops[i]); !wrong.empty()) {
      return Damaged(call.header.kind, StrCat("operation ", i, " has ", wrong));
    }
    payload += ops[i].payload_bytes;
  }
  if (payload != call.payload_bytes) {
    return Damaged(call.header.kind, StrCat("its operations' payloads have ", payload,
                                            " bytes, it says ", call.payload_bytes));
  }
  return {};
}

Result<void> CheckMark(std::span<const std::byte> record) {
  const auto& mark = As<wire::MarkRecord>(record);
  return CheckTail(record, sizeof(mark) + std::uint64_t{mark.name_bytes});
}

Result<void> CheckBooking(std::span<const std::byte> record) {
  const auto& memory = As<wire::MemoryRecord>(record);
  if (memory.delta < -kBookedMaxBytes || memory.delta > kBookedMaxBytes) {
    return Damaged(memory.header.kind, StrCat("it books ", memory.delta, " bytes"));
  }
  if (memory.used > static_cast<std::uint64_t>(kBookedMaxBytes)) {
    return Damaged(memory.header.kind, StrCat(memory.used, " bytes are booked afterwards"));
  }
  return {};
}

Result<void> CheckBlock(std::span<const std::byte> record) {
  const auto& block = As<wire::MemoryBlockRecord>(record);
  if (block.bytes < -kBookedMaxBytes || block.bytes > kBookedMaxBytes) {
    return Damaged(block.header.kind, StrCat("it has ", block.bytes, " bytes"));
  }
  return {};
}

Result<void> CheckInputs(std::span<const std::byte> record) {
  const auto& inputs = As<wire::InputsRecord>(record);
  if (inputs.kind >= wire::InputKind::kCount) {
    return Damaged(inputs.header.kind,
                   StrCat("it has kind ", static_cast<std::uint32_t>(inputs.kind)));
  }
  if (std::max(inputs.samples, inputs.tokens) > kInputsMax) {
    return Damaged(inputs.header.kind,
                   StrCat("it has ", inputs.samples, " samples and ", inputs.tokens, " tokens"));
  }
  return {};
}

Result<void> CheckTensors(std::span<const std::byte> record) {
  const auto& list = As<wire::OptimizerTensorsRecord>(record);
  const std::uint64_t tail = std::uint64_t{list.count} * sizeof(wire::OptimizerTensor);
  if (auto fits = CheckTail(record, sizeof(list) + tail); !fits) return fits;
  for (const wire::OptimizerTensor& tensor : TensorsAfter(list)) {
    if (tensor.role >= wire::TensorRole::kCount) {
      return Damaged(list.header.kind,
                     StrCat("a tensor has role ", static_cast<std::uint32_t>(tensor.role)));
    }
    if (tensor.bytes > kBookedMaxBytes) {
      return Damaged(list.header.kind, StrCat("a tensor has ", tensor.bytes, " bytes"));
    }
  }
  return {};
}

}  // namespace

std::span<const wire::OptimizerTensor> TensorsAfter(const wire::OptimizerTensorsRecord& record) {
  return {reinterpret_cast<const wire::OptimizerTensor*>(&record + 1), record.count};
}

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
    return Damaged(header.kind,
                   StrCat("its clock is ", header.host_clock_ps, " ps, beyond all time"));
  }
  if (shape.has_slot) {
    if (auto fits = CheckSlot(record); !fits) return fits;
  }
  switch (header.kind) {
    case RecordKind::kDefineWork:
      return CheckWork(record);
    case RecordKind::kGraphDefine:
      return CheckGraph(record);
    case RecordKind::kCommunication:
      return CheckCommunication(record);
    case RecordKind::kCommunicatorInit:
      return CheckMembership(record);
    case RecordKind::kCommunicatorSplit:
      return CheckSplit(record);
    case RecordKind::kSynchronizeStream:
    case RecordKind::kSynchronizeDevice:
    case RecordKind::kSynchronizeEvent:
    case RecordKind::kQueryStream:
    case RecordKind::kQueryEvent:
    case RecordKind::kElapsedTime:
    case RecordKind::kSensors:
    case RecordKind::kWaitUntil:
    case RecordKind::kCollectiveValues:
    case RecordKind::kActivity:
      return CheckQuestion(record);
    case RecordKind::kRangePush:
    case RecordKind::kRangePop:
    case RecordKind::kRefusedCall:
    case RecordKind::kUnknownRead:
    case RecordKind::kUnknownSource:
    case RecordKind::kDamage:
    case RecordKind::kPythonLine:
    case RecordKind::kGuessedValues:
      return CheckMark(record);
    case RecordKind::kMemoryBlock:
      return CheckBlock(record);
    case RecordKind::kOptimizerTensors:
      return CheckTensors(record);
    case RecordKind::kInputs:
      return CheckInputs(record);
    case RecordKind::kMemory:
    case RecordKind::kActivations:
    case RecordKind::kOutOfMemory:
      if (As<wire::MemoryRecord>(record).category > wire::MemoryCategory::kManaged) {
        return Damaged(header.kind, "its category is unknown");
      }
      return header.kind == RecordKind::kOutOfMemory ? Result<void>{} : CheckBooking(record);
    default:
      return {};
  }
}

}  // namespace eidolon::agent::ring
