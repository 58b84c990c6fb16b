// Keeps what a timeline, a recording and the counts of tokens need of a session's records.
#include "services/agent/ring/record_check.h"
#include "services/agent/session/session.h"
#include "services/contract/recording/entry.h"
#include "services/contract/ring/python_line.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using wire::RecordKind;

// Questions never stall; their answers follow them.
ApplyResult Session::ApplyKept(const ring::RecordView& record, std::uint64_t position) {
  const bool is_question = ::eidolon::recording::IsTimedQuestion(record.header().kind);
  if (is_question) recording_->NoteRecord(record);
  ApplyResult applied = Apply(record, position);
  if (!is_question && applied.has_value() && *applied == Applied::kYes) {
    recording_->NoteRecord(record);
  }
  return applied;
}

void Session::ShowCall(timeline::HostCall call, const ring::RecordView& record,
                       std::size_t operations) {
  if (timeline_ == nullptr || operations == 0) return;
  timeline_->NoteCall(call, MarkOf(record.header()), static_cast<std::uint32_t>(operations));
}

// What is for a timeline alone: it costs the program nothing and says nothing about what it does.
ApplyResult Session::ShowDetail(const ring::RecordView& record) {
  if (timeline_ == nullptr) return Applied::kYes;
  switch (record.header().kind) {
    case RecordKind::kMemoryBlock:
      timeline_->NoteBlock(record.As<wire::MemoryBlockRecord>(), MarkOf(record.header()));
      break;
    case RecordKind::kOptimizerTensors:
      timeline_->NoteTensors(record.header().device,
                             ring::TensorsAfter(record.As<wire::OptimizerTensorsRecord>()),
                             engine_.issued());
      break;
    default:
      ShowLine(record.As<wire::MarkRecord>());
  }
  return Applied::kYes;
}

void Session::ShowLine(const wire::MarkRecord& line) {
  if (line.name_bytes > 0) {
    timeline_->DefineLine(line.id, wire::ShownPythonLine(ring::NameAfter(line)));
  } else {
    timeline_->SetLine(line.id);
  }
}

// It is answered later, when others have called elsewhere.
void Session::ShowQuestion(const wire::WaitRecord& question) {
  if (timeline_ != nullptr) waits_.NoteLine(question.slot, timeline_->line());
}

void Session::ShowOperation(const device::ResolvedOp& op) {
  if (timeline_ == nullptr) return;
  if (op.kind == device::OpKind::kCollective) {
    timeline_->NoteCollective(op, calls_.TakeShown());
  } else {
    timeline_->NoteOperation(op);
  }
}

void Session::ShowIteration(const iteration::Report& report) {
  if (timeline_ == nullptr) return;
  timeline_->EndIteration(report);
  if (timeline_->is_done()) segment_.WantTimeline(false);
}

void Session::ShowRange(const ring::RecordView& record) {
  if (timeline_ == nullptr) return;
  const auto& mark = record.As<wire::MarkRecord>();
  if (record.header().kind == RecordKind::kRangePush) {
    timeline_->OpenRange(mark.id, ring::NameAfter(mark), ClockOf(record.header()));
  } else {
    timeline_->CloseRange(mark.id, MarkOf(record.header()));
  }
}

void Session::ShowMemory(const ring::RecordView& record) {
  if (timeline_ == nullptr) return;
  const std::uint16_t device = record.header().device;
  const MemorySplit& now = memory().devices().at(device).now;
  timeline_->NoteMemory({.device = device,
                         .at = ClockOf(record.header()),
                         .sequence = engine_.issued(),
                         .allocations = now.allocations,
                         .workspace = now.workspace,
                         .nccl = now.nccl,
                         .context = now.context});
}

void Session::NoteTokens(std::uint64_t sequence, const cost::CostEntry& entry) {
  if (!entry.tells_tokens) return;
  const iteration::WorkCounts& counts = host_->costs().bases()[entry.basis].counts;
  passes_.NoteWork(sequence, counts);
  inputs_.NoteWork(counts);
}

void Session::NoteCalls(std::uint64_t sequence, std::uint32_t size,
                        std::span<const wire::CommunicationOp> ops) {
  passes_.NoteCalls(size, ops);
  inputs_.NoteCalls(sequence, size, ops);
}

void Session::NoteTokens(std::uint64_t sequence, const GraphShape::Node& node) {
  if (node.likeness != 0) {
    NoteTokens(sequence, host_->costs().entry(node.identity));
  } else if (const CommunicationTemplate* call = calls_.FindTemplate(node.id)) {
    const auto size = static_cast<std::uint32_t>(communicators_.at(call->communicator).size);
    NoteCalls(sequence, size, call->ops);
  }
}

}  // namespace eidolon::agent::session
