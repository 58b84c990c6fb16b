#include "services/agent/session/session.h"

#include <algorithm>
#include <utility>

#include "services/agent/ring/record_check.h"
#include "services/agent/session/prepared_call.h"
#include "services/base/check.h"
#include "services/base/text.h"
#include "services/contract/ring/call_site.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::SimTime;
using base::StrCat;
using wire::RecordKind;

Session::Session(Options options, ring::Segment segment, SessionHost* host)
    : options_(std::move(options)),
      host_(host),
      segment_(std::move(segment)),
      reader_(segment_.base(), static_cast<std::uint32_t>(options_.devices.size())),
      engine_(options_.devices, this),
      replies_(options_.number, host, &engine_, &intake_, &segment_),
      works_(host),
      communicators_(options_.number, options_.server, host, &intake_, &replies_),
      calls_(host, &engine_, &communicators_),
      graphs_(host, &engine_, &works_, &calls_),
      waits_(host, &engine_, &replies_),
      iterations_(options_.rule, options_.event_log, host, &usage_) {
  clock_.ps = static_cast<std::int64_t>(std::min(segment_.clock_ps(), ring::kClockMaxPs));
  if (options_.timeline.has_value()) {
    timeline_ = std::make_unique<timeline::Recorder>(*options_.timeline);
    waits_.ShowOn(timeline_.get());
    segment_.WantTimeline(true);
    calls_.KeepShown();
  }
  if (!options_.recording.empty()) {
    recording_ =
        std::make_unique<recording::Recorder>(options_.recording, options_.recording_bytes_max);
    replies_.RecordOn(recording_.get());
  }
  if (options_.is_primary) StartDriving();
}

Session::~Session() = default;

ApplyResult Session::Done(const base::Result<void>& done) {
  if (!done) return std::unexpected(done.error());
  return Applied::kYes;
}

void Session::OnValues(const network::v1::Values& values) {
  if (!communicators_.OnValues(values) || values.guessed() == 0) return;
  usage_.NoteGuessedCollective(values.call_site());
  if (recording_ != nullptr) recording_->NoteGuess(values.call_site());
}

void Session::StartDriving() {
  if (driving_) return;
  driving_ = true;
  host_->horizon().AddRank(options_.number, clock_);
}

void Session::GiveUpRank() {
  if (has_begun()) return;
  driving_ = false;
  host_->horizon().RemoveRank(options_.number);
}

base::Result<bool> Session::Drain(int limit) {
  if (gone_) return false;
  // The clock is read before the ring: records that come later have a clock that is not smaller.
  const std::uint64_t clock_ps = segment_.clock_ps();
  if (clock_ps > ring::kClockMaxPs) {
    return Fail(ErrorCode::kCorrupt, StrCat("ring damaged: the rank's clock is ", clock_ps));
  }
  const SimTime clock{static_cast<std::int64_t>(clock_ps)};
  const std::uint64_t written = reader_.written();
  bool moved = false;
  awaits_costs_ = false;
  SimTime bound = clock;
  for (int i = 0; i < limit; ++i) {
    const std::uint64_t before = position_;
    auto record = reader_.Read(&position_);
    if (!record) return std::unexpected(record.error());
    if (!record->has_value()) break;
    const SimTime issued = ClockOf((*record)->header());
    ApplyResult applied =
        recording_ == nullptr ? Apply(**record, before) : ApplyKept(**record, before);
    if (auto timely = intake_.Finish(**record); applied.has_value() && !timely) {
      applied = std::unexpected(timely.error());
    }
    if (!applied) {
      return Fail(ErrorCode::kCorrupt,
                  StrCat("ring damaged at byte ", before, ": ", applied.error().message));
    }
    if (*applied == Applied::kStalled) {
      position_ = before;
      awaits_costs_ = true;
      bound = std::min(bound, issued);
      works_.Scout(&reader_, position_);
      break;
    }
    moved = true;
    if (i + 1 == limit) bound = std::min(bound, issued);
  }
  reader_.Release(position_);
  clock_ = std::max(clock_, clock);
  intake_.NoteClock(clock, written);
  host_->horizon().SetClock(options_.number, std::max(bound, floor_));
  if (moved) {
    waits_.Settle();
    ReportIterations();
  }
  return moved;
}

SimTime Session::known_clock() const { return std::max(clock_, replies_.last_told().host_clock); }

void Session::MarkGone() {
  gone_ = true;
  host_->horizon().RemoveRank(options_.number);
  waits_.Forget();
}

void Session::RaiseFloor(SimTime floor) {
  floor_ = std::max(floor_, floor);
  segment_.RaiseFloor(static_cast<std::uint64_t>(floor.ps));
  host_->horizon().SetClock(options_.number, floor_);
}

SimTime Session::ClockOf(const wire::RecordHeader& header) const {
  return {static_cast<std::int64_t>(header.host_clock_ps)};
}

device::Engine::Call Session::CallOf(const wire::RecordHeader& header, std::uint32_t stream) {
  return {.device = header.device, .stream = stream, .host_clock = ClockOf(header)};
}

iteration::Mark Session::MarkOf(const wire::RecordHeader& header) const {
  return {engine_.issued(), ClockOf(header), replies_.waited()};
}

ApplyResult Session::JoinCommunicator(const ring::RecordView& record) {
  if (auto may = communicators_.CheckJoin(record); !may) return std::unexpected(may.error());
  StartDriving();
  communicators_.Join(record);
  return Applied::kYes;
}

ApplyResult Session::Apply(const ring::RecordView& record, std::uint64_t position) {
  if (auto taken = intake_.Take(record, position); !taken) return std::unexpected(taken.error());
  const RecordKind kind = record.header().kind;
  if (kind >= RecordKind::kPythonLine) return ShowDetail(record);
  if (wire::AsksTime(kind)) {
    const bool is_program = record.As<wire::WaitRecord>().observer == 0;
    const bool is_query = kind == RecordKind::kQueryStream || kind == RecordKind::kQueryEvent;
    if (is_program && !is_query) last_kind_ = kind;
    active_ = active_ || (driving_ && is_program);
    return Ask(record);
  }
  active_ = true;
  last_kind_ = kind;
  switch (kind) {
    case RecordKind::kCommunicatorInit:
      return JoinCommunicator(record);
    case RecordKind::kCommunicatorSplit:
      return Done(communicators_.Split(record));
    case RecordKind::kCommunicatorDestroy:
      return Done(communicators_.Leave(record));
    default:
      break;
  }
  if (kind < RecordKind::kLaunch) return ApplyDefinition(record);
  if (kind < RecordKind::kSynchronizeStream) {
    StartDriving();
    return ApplyWatched(record);
  }
  if (kind == RecordKind::kActivity || kind == RecordKind::kCollectiveValues) return Ask(record);
  return ApplyNote(record);
}

ApplyResult Session::ApplyDefinition(const ring::RecordView& record) {
  base::Result<void> done;
  switch (record.header().kind) {
    case RecordKind::kDefineWork:
      done = works_.Define(record, intake_.position());
      break;
    case RecordKind::kStreamCreate: {
      const auto& [head, stream, non_blocking, priority, none] = record.As<wire::StreamRecord>();
      done = engine_.CreateStream(head.device, stream, non_blocking != 0, priority);
      break;
    }
    case RecordKind::kStreamDestroy:
      done = engine_.DestroyStream(record.As<wire::StreamRecord>().stream);
      break;
    case RecordKind::kEventCreate:
      done = engine_.CreateEvent(record.As<wire::EventRecord>().event);
      break;
    case RecordKind::kEventDestroy:
      done = engine_.DestroyEvent(record.As<wire::EventRecord>().event);
      break;
    case RecordKind::kGraphDefine:
      return graphs_.Define(record);
    case RecordKind::kGraphDestroy:
      done = graphs_.Destroy(record.As<wire::GraphRecord>().graph);
      break;
    default:
      CHECK(false);
  }
  return Done(done);
}

ApplyResult Session::ApplyWatched(const ring::RecordView& record) {
  if (!activity_.watched()) return ApplyWork(record);
  std::vector<std::uint32_t> nodes;
  if (record.header().kind == RecordKind::kGraphLaunch) {
    const auto shape = graphs_.Find(record.As<wire::GraphRecord>().graph);
    if (!shape) return std::unexpected(shape.error());
    for (const GraphShape::Node& node : (*shape)->nodes) nodes.push_back(node.id);
  }
  activity_.BeginRecord(intake_.position(), engine_.issued(), std::move(nodes));
  const ApplyResult applied = ApplyWork(record);
  activity_.EndRecord(engine_.issued());
  return applied;
}

ApplyResult Session::ApplyWork(const ring::RecordView& record) {
  base::Result<void> done;
  switch (record.header().kind) {
    case RecordKind::kLaunch:
      return Launch(record);
    case RecordKind::kEventRecord: {
      const auto& event = record.As<wire::EventRecord>();
      done = engine_.RecordEvent(CallOf(record.header(), event.stream), event.event);
      break;
    }
    case RecordKind::kStreamWaitEvent: {
      const auto& event = record.As<wire::EventRecord>();
      done = engine_.WaitEvent(CallOf(record.header(), event.stream), event.event);
      break;
    }
    case RecordKind::kHostCallback:
      ShowCall(timeline::HostCall::kCallback, record, 1);
      done = engine_.Callback(CallOf(record.header(), record.As<wire::CallbackRecord>().stream));
      break;
    case RecordKind::kGraphLaunch:
      return LaunchGraph(record);
    case RecordKind::kCommunication:
      return Communicate(record);
    default:
      CHECK(false);
  }
  return Done(done);
}

ApplyResult Session::Launch(const ring::RecordView& record) {
  const auto& launch = record.As<wire::LaunchRecord>();
  const std::uint32_t* number = works_.Find(launch.work);
  if (number == nullptr) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("launch record: work ", launch.work, " was not defined"));
  }
  const cost::CostEntry& entry = host_->costs().entry(*number);
  if (!entry.known) return Applied::kStalled;
  const auto call = CallOf(record.header(), launch.stream);
  ShowCall(timeline::HostCall::kLaunch, record, 1);
  iterations_.Feed({.identity = *number,
                    .device = record.header().device,
                    .update = entry.update,
                    .mark = MarkOf(record.header())});
  calls_.NoteLaunch(entry.likeness);
  NoteTokens(engine_.issued(), entry);
  CountLaunch(record.header().device);
  return Done(engine_.Launch(call, entry.work));
}

void Session::CountLaunch(std::uint32_t device) {
  if (launches_++ == 0) host_->WorkBegan(*this, device);
}

ApplyResult Session::Communicate(const ring::RecordView& record) {
  const auto& header = record.As<wire::CommunicationRecord>();
  const auto* first = reinterpret_cast<const wire::CommunicationOp*>(&header + 1);
  const std::span ops(first, header.op_count);
  const auto communicator = communicators_.Find(header.communicator);
  if (!communicator) return std::unexpected(communicator.error());
  if (header.template_id != 0) {
    return Done(calls_.DefineTemplate(header.template_id, header.communicator, ops));
  }
  const std::span payload(reinterpret_cast<const std::byte*>(first + header.op_count),
                          header.payload_bytes);
  auto calls = calls_.Prepare(**communicator, ops, payload);
  if (!calls) return std::unexpected(calls.error());
  if (!calls->has_value()) return Applied::kStalled;
  ShowCall(timeline::HostCall::kCommunication, record, (*calls)->size());
  const auto call = CallOf(record.header(), header.stream);
  const std::string site = wire::CallSiteOf(record.bytes);
  NoteCalls(engine_.issued(), static_cast<std::uint32_t>((*communicator)->size), ops);
  for (PreparedCall& prepared : **calls) {
    prepared.site = site;
    iterations_.Feed({.identity = ~static_cast<std::uint32_t>(prepared.operation.kind()),
                      .device = record.header().device,
                      .mark = MarkOf(record.header())});
    const device::Collective collective = calls_.Issue(header.communicator, &prepared);
    if (auto done = engine_.Issue(call, collective); !done) return std::unexpected(done.error());
  }
  return Applied::kYes;
}

ApplyResult Session::LaunchGraph(const ring::RecordView& record) {
  const auto& launch = record.As<wire::GraphRecord>();
  const auto shape = graphs_.Find(launch.graph);
  if (!shape) return std::unexpected(shape.error());
  auto prepared = calls_.PrepareTemplates((*shape)->templates);
  if (!prepared) return std::unexpected(prepared.error());
  if (!prepared->has_value()) return Applied::kStalled;
  ShowCall(timeline::HostCall::kGraphLaunch, record, (*shape)->nodes.size());
  iteration::Mark mark = MarkOf(record.header());
  for (const GraphShape::Node& node : (*shape)->nodes) {
    iterations_.Feed({.identity = node.identity,
                      .device = record.header().device,
                      .update = node.update,
                      .mark = mark});
    if (node.likeness != 0) calls_.NoteLaunch(node.likeness);
    NoteTokens(mark.sequence, node);
    ++mark.sequence;
  }
  std::vector<device::Collective> collectives;
  for (OwnedCall& owned : **prepared) {
    collectives.push_back(calls_.Issue(owned.communicator, &owned.call));
  }
  CountLaunch(record.header().device);
  return Done(
      engine_.LaunchGraph(CallOf(record.header(), launch.stream), launch.graph, collectives));
}

ApplyResult Session::Ask(const ring::RecordView& record) {
  if (auto taken = intake_.TakeSlot(record); !taken) return std::unexpected(taken.error());
  const auto& question = record.As<wire::WaitRecord>();
  replies_.NoteAsked(question.slot, ClockOf(record.header()));
  ShowQuestion(question);
  switch (record.header().kind) {
    case RecordKind::kSynchronizeStream:
    case RecordKind::kSynchronizeDevice:
    case RecordKind::kSynchronizeEvent:
      if (question.observer == 0) iterations_.NoteWait();
      return waits_.AskCompletion(question);
    case RecordKind::kQueryStream:
    case RecordKind::kQueryEvent:
      return waits_.AskQuery(question);
    case RecordKind::kElapsedTime:
      return waits_.AskElapsed(question);
    case RecordKind::kCollectiveValues:
      return Done(communicators_.AskValues(question));
    case RecordKind::kSensors:
    case RecordKind::kWaitUntil:
      waits_.AskMoment(question, driving_);
      return Applied::kYes;
    case RecordKind::kActivity:
      activity_.Answer(question, &replies_);
      return Applied::kYes;
    default:
      CHECK(false);
  }
  return Applied::kYes;
}

ApplyResult Session::ApplyNote(const ring::RecordView& record) {
  switch (record.header().kind) {
    case RecordKind::kMemory: {
      const auto booked = usage_.Book(record.As<wire::MemoryRecord>());
      if (booked) ShowMemory(record);
      return Done(booked);
    }
    case RecordKind::kActivations:
      usage_.NoteActivations(record.As<wire::MemoryRecord>());
      break;
    case RecordKind::kInputs:
      inputs_.Note(engine_.issued(), record.As<wire::InputsRecord>());
      break;
    case RecordKind::kOutOfMemory:
      usage_.RefuseMemory(record.As<wire::MemoryRecord>());
      host_->RequestRefused(*this);
      break;
    case RecordKind::kRangePush:
    case RecordKind::kRangePop:
      iterations_.NoteRange(record, MarkOf(record.header()));
      ShowRange(record);
      break;
    case RecordKind::kRefusedCall: {
      const auto& mark = record.As<wire::MarkRecord>();
      const std::string name(ring::NameAfter(mark));
      usage_.RefuseCall(name, mark.id);
      host_->CallRefused(*this, name);
      break;
    }
    case RecordKind::kUnknownRead:
      usage_.NoteUnknownRead(record.As<wire::MarkRecord>());
      break;
    case RecordKind::kUnknownSource:
      usage_.NoteUnknownSource(record.As<wire::MarkRecord>());
      break;
    case RecordKind::kGuessedValues:
      usage_.NoteGuessedCollective(std::string(ring::NameAfter(record.As<wire::MarkRecord>())));
      break;
    case RecordKind::kDamage:
      return Fail(ErrorCode::kCorrupt, StrCat("the process found that ",
                                              ring::NameAfter(record.As<wire::MarkRecord>())));
    default:
      CHECK(false);
  }
  return Applied::kYes;
}

void Session::OpResolved(const device::ResolvedOp& op) {
  intake_.NoteEnd(op.finish);
  iterations_.Add(op, calls_.resolving());
  activity_.Add(op);
  ShowOperation(op);
}

void Session::CollectiveReady(std::uint64_t token, SimTime ready) { calls_.Post(token, ready); }

void Session::CollectiveBounded(std::uint64_t token, SimTime ready) {
  calls_.TellBound(token, ready);
}

void Session::WaitEnded(std::uint64_t ticket, SimTime time) { waits_.NoteEnded(ticket, time); }

bool Session::OnCommitted(const Commitment& commitment) {
  const bool known = calls_.Commit(commitment);
  if (known) {
    waits_.Settle();
    ReportIterations();
  }
  return known;
}

// The line was written between the last answered wait and now. That wait is the same in every run
// of the program, while the moment at which the line was read is not.
void Session::EndIterationByLog() {
  if (!options_.rule.by_log || finished_) return;
  if (recording_ != nullptr) recording_->NoteIteration(replies_.last_told().sequence);
  EndIterationAt(replies_.last_told());
}

void Session::EndIterationAt(const iteration::Mark& mark) {
  if (finished_) return;
  iterations_.EndByLog({mark.sequence, mark.host_clock, replies_.waited()});
  ReportIterations();
}

void Session::ReportIterations() {
  while (auto report = iterations_.Take()) {
    report->tables = passes_.Take(report->sequence_begin, report->sequence_end);
    report->inputs = inputs_.Take(report->sequence_begin, report->sequence_end);
    ShowIteration(*report);
    host_->IterationEnded(*this, *report);
  }
}

void Session::Finish(iteration::ProgramEnd how) {
  if (finished_) return;
  finished_ = true;
  if (recording_ != nullptr) {
    recording_->Close(clock_, segment_.farewell() == wire::Farewell::kEnded);
  }
  iterations_.End({engine_.issued(), known_clock(), replies_.waited()}, how);
  ReportIterations();
  // Leaving is not part of a program: it lasts until its last work, or the last answer that it
  // waited for.
  iterations_.Close({engine_.issued(), replies_.last_told().host_clock, replies_.waited()});
  if (timeline_ != nullptr) timeline_->Close(engine_.issued(), program().end);
}

void Session::Dismiss() {
  waits_.Dismiss();
  communicators_.Dismiss();
}

std::string Session::LastDoing() const {
  return StrCat("its last record: ", ring::Name(last_kind_), ", launches so far: ", launches_,
                calls_.DescribeOpen());
}

}  // namespace eidolon::agent::session
