#include "services/agent/session/session.h"

#include <algorithm>
#include <utility>

#include "services/agent/ring/record_check.h"
#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::SimTime;
using base::StrCat;
using wire::RecordKind;

namespace {

// How far the scout looks ahead of a stalled record.
constexpr int kScoutLimit = 1 << 16;

}  // namespace

Session::Session(Options options, ring::Segment segment, SessionHost* host)
    : options_(std::move(options)),
      host_(host),
      segment_(std::move(segment)),
      reader_(segment_.base(), static_cast<std::uint32_t>(options_.devices.size())),
      engine_(options_.devices, this) {
  clock_.ps = static_cast<std::int64_t>(std::min(segment_.clock_ps(), ring::kClockMaxPs));
  if (options_.is_primary) StartDriving();
  if (!options_.event_log.empty()) {
    event_log_ = std::make_unique<EventLog>(options_.event_log);
  }
}

Session::~Session() = default;

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
  SimTime bound = clock;
  for (int i = 0; i < limit; ++i) {
    const std::uint64_t before = position_;
    auto record = reader_.Read(&position_);
    if (!record) return std::unexpected(record.error());
    if (!record->has_value()) break;
    const SimTime issued = ClockOf((*record)->header());
    Outcome applied = Apply(**record, before);
    if (auto timely = intake_.Finish(**record); applied.has_value() && !timely) {
      applied = std::unexpected(timely.error());
    }
    if (!applied) {
      return Fail(ErrorCode::kCorrupt,
                  StrCat("ring damaged at byte ", before, ": ", applied.error().message));
    }
    if (*applied == Applied::kStalled) {
      position_ = before;
      bound = std::min(bound, issued);
      Scout();
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
    SettleWaits();
    ReportIterations();
  }
  return moved;
}

SimTime Session::known_clock() const { return std::max(clock_, last_reply_); }

void Session::MarkGone() {
  gone_ = true;
  host_->horizon().RemoveRank(options_.number);
  waits_.clear();
  moments_.clear();
  sleepers_.clear();
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

Session::Outcome Session::Apply(const ring::RecordView& record, std::uint64_t position) {
  if (auto taken = intake_.Take(record, position); !taken) return std::unexpected(taken.error());
  const RecordKind kind = record.header().kind;
  if (kind >= RecordKind::kSynchronizeStream && kind <= RecordKind::kWaitUntil) {
    const bool is_program = record.As<wire::WaitRecord>().observer == 0;
    const bool is_query = kind == RecordKind::kQueryStream || kind == RecordKind::kQueryEvent;
    if (is_program && !is_query) last_kind_ = kind;
    active_ = active_ || (driving_ && is_program);
    return Ask(record);
  }
  active_ = true;
  last_kind_ = kind;
  switch (kind) {
    case RecordKind::kCollectiveValues:
      return Ask(record);
    case RecordKind::kCommunicatorInit:
      return JoinCommunicator(record);
    case RecordKind::kCommunicatorSplit:
      return SplitCommunicator(record);
    case RecordKind::kCommunicatorDestroy:
      return LeaveCommunicator(record);
    default:
      break;
  }
  if (kind < RecordKind::kLaunch) return ApplyDefinition(record);
  if (kind < RecordKind::kSynchronizeStream) {
    StartDriving();
    return ApplyWork(record);
  }
  return ApplyNote(record);
}

Session::Outcome Session::ApplyDefinition(const ring::RecordView& record) {
  base::Result<void> done;
  switch (record.header().kind) {
    case RecordKind::kDefineWork:
      done = DefineWork(record, intake_.position());
      break;
    case RecordKind::kStreamCreate: {
      const auto& stream = record.As<wire::StreamRecord>();
      done = engine_.CreateStream(record.header().device, stream.stream, stream.non_blocking != 0);
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
      return DefineGraph(record);
    case RecordKind::kGraphDestroy: {
      const std::uint32_t graph = record.As<wire::GraphRecord>().graph;
      graphs_.erase(graph);
      done = engine_.DestroyGraph(graph);
      break;
    }
    default:
      CHECK(false);
  }
  if (!done) return std::unexpected(done.error());
  return Applied::kYes;
}

// Known is what the scout has seen, or else damage.
base::Result<void> Session::DefineWork(const ring::RecordView& record, std::uint64_t position) {
  const auto& define = record.As<wire::DefineWork>();
  if (works_.Find(define.work) != nullptr) {
    if (position < scouted_) return {};
    return Fail(ErrorCode::kCorrupt,
                StrCat("define work record: work ", define.work, " exists already"));
  }
  const auto tail = record.TailAfter<wire::DefineWork>();
  const std::size_t padded = (std::size_t{define.definition_bytes} + 7) & ~std::size_t{7};
  const auto replay = tail.subspan(std::min(padded, tail.size()));
  works_.Insert(define.work, host_->costs().Intern(tail.first(define.definition_bytes), replay));
  return {};
}

// Looks ahead of a stalled record for definitions to ask about. Damage is left to the main reader.
void Session::Scout() {
  std::uint64_t at = std::max(scouted_, position_);
  for (int i = 0; i < kScoutLimit; ++i) {
    const auto record = reader_.Read(&at);
    if (!record.has_value() || !record->has_value()) break;
    if ((*record)->header().kind != RecordKind::kDefineWork) continue;
    if (!DefineWork(**record, at)) break;
  }
  scouted_ = at;
}

Session::Outcome Session::ApplyWork(const ring::RecordView& record) {
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
      done = engine_.Callback(CallOf(record.header(), record.As<wire::CallbackRecord>().stream));
      break;
    case RecordKind::kGraphLaunch:
      return LaunchGraph(record);
    case RecordKind::kCommunication:
      return Communicate(record);
    default:
      CHECK(false);
  }
  if (!done) return std::unexpected(done.error());
  return Applied::kYes;
}

Session::Outcome Session::Launch(const ring::RecordView& record) {
  const auto& launch = record.As<wire::LaunchRecord>();
  const std::uint32_t* number = works_.Find(launch.work);
  if (number == nullptr) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("launch record: work ", launch.work, " was not defined"));
  }
  const cost::CostEntry& entry = host_->costs().entry(*number);
  if (!entry.known) return Applied::kStalled;
  const auto call = CallOf(record.header(), launch.stream);
  FeedDetector(*number, entry.update, engine_.issued(), call.host_clock);
  CountLaunch(record.header().device);
  if (auto done = engine_.Launch(call, entry.work); !done) return std::unexpected(done.error());
  return Applied::kYes;
}

void Session::CountLaunch(std::uint32_t device) {
  if (launches_++ == 0) host_->WorkBegan(*this, device);
}

void Session::NoteUnknownRead(const wire::MarkRecord& mark) {
  ++usage_.unknown_reads;
  const auto source = usage_.unknown_sources.find(mark.reserved);
  if (source == usage_.unknown_sources.end()) return;
  ++source->second.reads;
  source->second.bytes += mark.id;
}

Session::Outcome Session::ApplyNote(const ring::RecordView& record) {
  switch (record.header().kind) {
    case RecordKind::kMemory:
      if (auto added = usage_.memory.Add(record.As<wire::MemoryRecord>()); !added) {
        return std::unexpected(added.error());
      }
      break;
    case RecordKind::kOutOfMemory:
      usage_.memory.Refuse(record.As<wire::MemoryRecord>());
      host_->RequestRefused(*this);
      break;
    case RecordKind::kRangePush:
    case RecordKind::kRangePop:
      NoteRange(record);
      break;
    case RecordKind::kRefusedCall: {
      const auto& mark = record.As<wire::MarkRecord>();
      const std::string name(ring::NameAfter(mark));
      usage_.refused_calls[name] += std::max<std::uint64_t>(mark.id, 1);
      host_->CallRefused(*this, name);
      break;
    }
    case RecordKind::kUnknownRead:
      NoteUnknownRead(record.As<wire::MarkRecord>());
      break;
    case RecordKind::kUnknownSource: {
      const auto& mark = record.As<wire::MarkRecord>();
      if (usage_.unknown_sources.size() >= ::eidolon::ring::kMostUnknownSources) break;
      usage_.unknown_sources[mark.id] = {
          .source = ::eidolon::ring::SplitUnknownSource(ring::NameAfter(mark)),
          .declaration = mark.reserved};
      break;
    }
    case RecordKind::kDamage:
      return Fail(ErrorCode::kCorrupt, StrCat("the process found that ",
                                              ring::NameAfter(record.As<wire::MarkRecord>())));
    default:
      CHECK(false);
  }
  return Applied::kYes;
}

}  // namespace eidolon::agent::session
