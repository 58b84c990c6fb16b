// A recording has to replay on another cluster, so it keeps what the program asked and drops what
// the simulation answered, but for the moments of answers. Values and replays of kernels are left
// out, and so are queries: their answers depend on timing, and the records behind them show what
// the program did. Without values nobody can tell at a replay which of them were guessed for
// mirrored ranks, so these guesses are kept where the agent heard of them. A question is noted
// before it is applied, since its answer follows it. Every other record is noted once it has been
// applied, because it may wait for costs and come by again.
#include "services/agent/recording/recorder.h"

#include <cstring>

#include "services/contract/recording/entry.h"
#include "services/contract/ring/call_site.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::recording {

namespace wire = ::eidolon::ring;
using wire::RecordKind;

namespace {

// Returns the size without what follows the parts that a replay needs. Where the program calls NCCL
// stands behind a payload, and is added by NoteRecord.
std::size_t KeptBytes(const ring::RecordView& record) {
  switch (record.header().kind) {
    case RecordKind::kDefineWork:
      return sizeof(wire::DefineWork) + record.As<wire::DefineWork>().definition_bytes;
    case RecordKind::kCommunication:
      return sizeof(wire::CommunicationRecord) +
             record.As<wire::CommunicationRecord>().op_count * sizeof(wire::CommunicationOp);
    default:
      return record.bytes.size();
  }
}

bool IsObservers(const ring::RecordView& record) {
  const RecordKind kind = record.header().kind;
  return kind != RecordKind::kCommunicatorInit && kind != RecordKind::kCommunicatorSplit &&
         record.As<wire::WaitRecord>().observer != 0;
}

}  // namespace

void Recorder::NoteRecord(const ring::RecordView& record) {
  const RecordKind kind = record.header().kind;
  if (kind >= RecordKind::kPythonLine) return;  // For a timeline alone.
  const bool timed = kept::IsTimedQuestion(kind);
  if (timed || kept::IsUntimedQuestion(kind)) {
    if (IsObservers(record)) return;
    if (!timed) {
      queries_ += kept::IsQuery(kind) ? 1 : 0;
      return;
    }
    timed_.set(record.As<wire::WaitRecord>().slot);  // All begin with it.
  }
  last_clock_ps_ = record.header().host_clock_ps;
  const std::size_t kept_bytes = KeptBytes(record);
  const std::string site =
      kind == RecordKind::kCommunication ? wire::CallSiteOf(record.bytes) : std::string();
  const std::size_t bytes = kept::PaddedBytes(kept_bytes + site.size());
  copy_.assign(bytes / 8, 0);
  std::memcpy(copy_.data(), record.bytes.data(), kept_bytes);
  std::memcpy(reinterpret_cast<char*>(copy_.data()) + kept_bytes, site.data(), site.size());
  auto* header = reinterpret_cast<wire::RecordHeader*>(copy_.data());
  header->bytes = static_cast<std::uint32_t>(bytes);
  header->check = 0;
  if (kind == RecordKind::kCommunication) {
    auto* communication = reinterpret_cast<wire::CommunicationRecord*>(copy_.data());
    communication->payload_bytes = 0;
    auto* ops = reinterpret_cast<wire::CommunicationOp*>(communication + 1);
    for (std::uint32_t i = 0; i < communication->op_count; ++i) ops[i].payload_bytes = 0;
  }
  Add(std::as_bytes(std::span(copy_)));
}

void Recorder::Add(std::span<const std::byte> entry) {
  if (!closed_) writer_.Add(entry);
}

template <typename T>
void Recorder::AddEntry(kept::EntryKind kind, base::SimTime time, T entry) {
  entry.header = {.bytes = sizeof(T),
                  .kind = static_cast<RecordKind>(kind),
                  .device = 0,
                  .host_clock_ps = static_cast<std::uint64_t>(time.ps),
                  .check = 0};
  Add(std::as_bytes(std::span(&entry, 1)));
}

void Recorder::NoteAnswer(std::uint32_t slot, base::SimTime time) {
  if (!timed_.test(slot)) return;
  timed_.reset(slot);
  AddEntry(kept::EntryKind::kAnswer, time,
           kept::AnswerEntry{.header = {}, .slot = slot, .reserved = 0});
}

void Recorder::NoteIteration(std::uint64_t sequence) {
  AddEntry(kept::EntryKind::kIteration, {},
           kept::IterationEntry{.header = {}, .sequence = sequence});
}

void Recorder::NoteGuess(const std::string& site) {
  const wire::MarkRecord mark{.header = {.bytes = static_cast<std::uint32_t>(kept::PaddedBytes(
                                             sizeof(wire::MarkRecord) + site.size())),
                                         .kind = RecordKind::kGuessedValues,
                                         .device = 0,
                                         .host_clock_ps = last_clock_ps_,
                                         .check = 0},
                              .id = 0,
                              .name_bytes = static_cast<std::uint32_t>(site.size()),
                              .reserved = 0};
  copy_.assign(mark.header.bytes / 8, 0);
  std::memcpy(copy_.data(), &mark, sizeof(mark));
  std::memcpy(reinterpret_cast<char*>(copy_.data()) + sizeof(mark), site.data(), site.size());
  Add(std::as_bytes(std::span(copy_)));
}

void Recorder::Close(base::SimTime clock, bool ended) {
  if (closed_) return;
  AddEntry(kept::EntryKind::kEnd, clock, kept::EndEntry{});
  closed_ = true;
  ended_ = ended;
}

base::Result<kept::RankPart> Recorder::Take() {
  if (auto done = writer_.Finish(); !done) return std::unexpected(done.error());
  kept::RankPart part{.header = {}, .path = writer_.path()};
  part.header.ring_version = wire::kVersion;
  part.header.ended = ended_ ? 1 : 0;
  part.header.entries = writer_.entries();
  part.header.entry_bytes = writer_.entry_bytes();
  part.header.queries = queries_;
  return part;
}

}  // namespace eidolon::agent::recording
