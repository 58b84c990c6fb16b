// The state lies in static storage, is made by the first GPU call, and is never destroyed, because
// threads of the program may still call in while the process ends. `phase` is the only thing that
// other threads look at without a lock; it becomes kOpen last. Header and devices are copied at the
// start, since the program may overwrite the segment. A fork may not go on with its parent's ring:
// it has no session, unless nothing but questions about GPUs was asked before, and then it connects
// anew.
//
// An answer's slot is marked as pending before the record with its number can be seen. A new work's
// definition enters the ring under the lock that guards the table, so no thread can launch the work
// ahead of it.
#include "shim/core/session.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "services/base/hash.h"
#include "services/base/text.h"
#include "services/contract/ring/check.h"
#include "shim/core/call_lines.h"
#include "shim/core/call_observer.h"
#include "shim/core/connection.h"
#include "shim/core/damage.h"
#include "shim/core/intern_work.h"
#include "shim/core/life_line.h"
#include "shim/core/rank_clock.h"
#include "shim/core/reply_slots.h"
#include "shim/core/ring_writer.h"
#include "shim/core/shared_host_costs.h"
#include "shim/core/spin_lock.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/core/work_identities.h"
#include "shim/core/work_table.h"

namespace eidolon::shim::core {
namespace {

constexpr std::int64_t kReplyLookAfterNs =
    50'000'000;  // How often a waiting thread looks for the agent.

enum class Phase : int { kUnknown, kNone, kOpen };

// Everything the session knows. Made on the first GPU call and never destroyed.
struct SessionState {
  Connection connection;
  // As the agent gave them: what stands in the segment may be overwritten.
  ring::SegmentHeader header{};
  std::array<ring::DeviceProperties, ring::kMaxDevices> devices{};
  RingWriter writer;
  CallLines lines;
  SpinLock works_lock;  // Guards works; held while a new definition enters the ring.
  WorkTable works;
  WorkIdentities identities;
  std::atomic<std::uint32_t> next_id{1};
};

constinit std::atomic<Phase> phase{Phase::kUnknown};
constinit std::mutex connecting;  // Guards the change from kUnknown.
constinit std::atomic<bool> uses_gpus{false};
constinit std::atomic<bool> tearing_down{false};
constinit std::atomic<bool> begun{false};
constinit std::atomic<int> asking{0};         // Threads in Ask.
constinit std::atomic<int> awaiting_work{0};  // Those of them that do not sleep.
alignas(SessionState) constinit std::byte state_storage[sizeof(SessionState)]{};
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint64_t thread_work = 0;

SessionState& GetState() { return *std::launder(reinterpret_cast<SessionState*>(state_storage)); }
// The object has no members: its address only tells that there is one.
constinit std::byte session_storage[sizeof(Session)]{};
Session* TheSession() { return reinterpret_cast<Session*>(session_storage); }

// Counts the calling thread among those that ask.
class Asking {
 public:
  explicit Asking(bool sleeps) noexcept : awaiting_(sleeps ? 0 : 1) {
    asking.fetch_add(1, std::memory_order_relaxed);
    awaiting_work.fetch_add(awaiting_, std::memory_order_relaxed);
  }
  ~Asking() {
    awaiting_work.fetch_sub(awaiting_, std::memory_order_relaxed);
    asking.fetch_sub(1, std::memory_order_relaxed);
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  int awaiting_;
};

void ForgetSessionInFork() {
  const bool may_connect = phase.load(std::memory_order_relaxed) == Phase::kOpen &&
                           !uses_gpus.load(std::memory_order_relaxed);
  phase.store(may_connect ? Phase::kUnknown : Phase::kNone, std::memory_order_relaxed);
  DetachClock();
  LeaveLifeLineInFork();
}

// The answer in a slot, and as much of its payload as is wanted. Notes damage.
Session::Answer Take(const ring::ReplySlot& slot, int number,
                     std::span<std::byte> payload) noexcept {
  ring::ReplySlot seen{};
  seen.status = slot.status;
  seen.value_ps = slot.value_ps;
  seen.extra = slot.extra;
  seen.payload_bytes = slot.payload_bytes;
  const char* bytes = ring::PayloadOf(GetState().connection.segment, number);
  if (slot.state.load(std::memory_order_relaxed) !=
          static_cast<std::uint32_t>(ring::SlotState::kReady) ||
      seen.payload_bytes > ring::kPayloadBytes ||
      slot.check != ring::ReplyCheck(static_cast<std::uint32_t>(number), seen, bytes)) {
    NoteDamage("an answer of the agent was overwritten");
    return {};
  }
  const std::size_t copied = std::min(payload.size(), std::size_t{seen.payload_bytes});
  if (copied > 0) std::memcpy(payload.data(), bytes, copied);
  return {seen.status, seen.value_ps, seen.extra, seen.payload_bytes};
}

bool IsWork(ring::RecordKind kind) {
  using enum ring::RecordKind;
  return kind == kLaunch || kind == kGraphLaunch || kind == kCommunication ||
         kind == kEventRecord || kind == kStreamWaitEvent || kind == kHostCallback;
}

// Returns whether the timeline shows the record as a call or a wait of the host.
bool IsShown(const ring::RecordHeader& record) {
  using enum ring::RecordKind;
  switch (record.kind) {
    case kLaunch:
    case kGraphLaunch:
    case kCommunication:
    case kHostCallback:
      return true;
    case kSynchronizeStream:
    case kSynchronizeDevice:
    case kSynchronizeEvent:
    case kWaitUntil:
      return reinterpret_cast<const ring::WaitRecord&>(record).observer == 0;
    default:
      return false;
  }
}

// Puts the record into the ring, behind its line where that is wanted.
bool Write(ring::RecordHeader* record, std::size_t record_bytes,
           std::span<const std::span<const std::byte>> tail, std::uint64_t* position) {
  SessionState& state = GetState();
  if (!TheSession()->wants_timeline() || !IsShown(*record)) {
    return state.writer.Append(record, record_bytes, tail, position);
  }
  const std::uint32_t line = state.lines.NumberHere(state.writer);
  return state.writer.AppendFrom(line, record, record_bytes, tail, position);
}

}  // namespace

Session* Session::Connect() noexcept {
  const std::lock_guard guard(connecting);
  if (phase.load(std::memory_order_acquire) != Phase::kUnknown) return Existing();
  try {
    auto* state = new (state_storage) SessionState;
    state->connection = ConnectToAgent();
    const Connection& connection = state->connection;
    if (connection.segment == nullptr) {
      if (!connection.reason.empty()) {
        WriteToStderr(base::StrCat("eidolon: no emulated GPU: ", connection.reason, "\n").c_str());
      }
      phase.store(Phase::kNone, std::memory_order_release);
      return nullptr;
    }
    state->header = *ring::HeaderOf(connection.segment);
    std::copy_n(ring::DevicesOf(connection.segment), state->devices.size(), state->devices.begin());
    state->writer.Start(
        {.segment = connection.segment, .page = connection.page, .doorbell = connection.doorbell});
    StartLifeLine(connection.socket, &ring::CursorsOf(connection.segment)->farewell);
    const ring::SegmentHeader& header = state->header;
    StartClock(
        {.cursors = ring::CursorsOf(connection.segment),
         .model = header.host_model,
         .costs = header.host_costs,
         .target_speed = header.target_speed,
         .speed_ratio = header.speed_ratio,
         .start_ps = header.start_clock_ps,
         .jitter = *ring::HostJitterOf(connection.segment),
         .shared_costs = ring::TimesThreads(header.host_model) ? MapSharedHostCosts() : nullptr});
    // Once: a fork that connects again has the handler already.
    static constinit std::atomic<bool> forks_are_watched{false};
    if (!forks_are_watched.exchange(true)) pthread_atfork(nullptr, nullptr, ForgetSessionInFork);
  } catch (...) {
    phase.store(Phase::kNone, std::memory_order_release);
    return nullptr;
  }
  phase.store(Phase::kOpen, std::memory_order_release);
  return TheSession();
}

Session* Session::Existing() noexcept {
  const bool open = phase.load(std::memory_order_acquire) == Phase::kOpen;
  return open && !tearing_down.load(std::memory_order_relaxed) ? TheSession() : nullptr;
}

bool Session::WasWanted() noexcept {
  return phase.load(std::memory_order_acquire) != Phase::kUnknown;
}

Session* Session::Get() noexcept {
  Session* const session = GetForQueries();
  if (session != nullptr && !UsesGpus()) uses_gpus.store(true, std::memory_order_relaxed);
  return session;
}

bool Session::UsesGpus() noexcept { return uses_gpus.load(std::memory_order_relaxed); }

Session* Session::GetForQueries() noexcept {
  if (Session* session = Existing()) return session;
  if (phase.load(std::memory_order_acquire) != Phase::kUnknown || IsTearingDown()) return nullptr;
  return Connect();
}

int Session::device_count() const noexcept { return static_cast<int>(header().device_count); }

const ring::DeviceProperties& Session::device(int device) const noexcept {
  return GetState().devices[static_cast<std::size_t>(device)];
}

const ring::SegmentHeader& Session::header() const noexcept { return GetState().header; }

bool Session::wants_timeline() const noexcept {
  const ring::Cursors& cursors = *ring::CursorsOf(GetState().connection.segment);
  return cursors.wants_timeline.load(std::memory_order_relaxed) != 0;
}

bool Session::agent_alive() const noexcept { return !GetState().writer.agent_gone(); }

void Session::Append(ring::RecordHeader* record, std::size_t record_bytes,
                     std::span<const std::span<const std::byte>> tail) noexcept {
  if (IsWork(record->kind)) {
    if (record->kind == ring::RecordKind::kLaunch) {
      const std::uint32_t work = reinterpret_cast<const ring::LaunchRecord*>(record)->work;
      NoteCallDetail(GetState().identities.Of(work));
    }
    if (++thread_work == 1) {
      NoteThreadIssuedWork();
      begun.store(true, std::memory_order_relaxed);
    }
  }
  CallObserver* const observer = Observer();
  if (observer == nullptr || !IsWork(record->kind)) {
    Write(record, record_bytes, tail, nullptr);
    return;
  }
  std::uint64_t position = 0;
  if (Write(record, record_bytes, tail, &position)) {
    observer->WorkIssued(*record, tail, position);
  }
}

Session::Answer Session::Ask(ring::RecordHeader* record, std::size_t record_bytes,
                             std::uint32_t* slot_field, bool advance_clock,
                             std::span<std::byte> payload,
                             std::span<const std::byte> tail) noexcept {
  SessionState& state = GetState();
  if (record->kind == ring::RecordKind::kCommunicatorInit) {
    begun.store(true, std::memory_order_relaxed);
  }
  const int number = OwnReplySlot();
  ring::ReplySlot& slot = ring::RepliesOf(state.connection.segment)[number];
  const auto pending = static_cast<std::uint32_t>(ring::SlotState::kPending);
  slot.check = 0;
  slot.state.store(pending, std::memory_order_relaxed);
  *slot_field = static_cast<std::uint32_t>(number);
  const std::span<const std::byte> parts[] = {tail};
  if (!Write(record, record_bytes, parts, nullptr)) return {};
  state.writer.RingDoorbell();
  NoteSleptInShim();
  const Asking counted(record->kind == ring::RecordKind::kWaitUntil);
  while (slot.state.load(std::memory_order_acquire) == pending) {
    FutexWait(&slot.state, pending, kReplyLookAfterNs);
    if (slot.state.load(std::memory_order_acquire) != pending) break;
    if (!state.writer.CheckAgent()) return {};
    state.writer.CheckPosition();
    state.writer.TellDamage();
  }
  const Answer answer = Take(slot, number, payload);
  if (NotedDamage() != nullptr) {
    state.writer.TellDamage();
    return {};
  }
  slot.state.store(static_cast<std::uint32_t>(ring::SlotState::kFree), std::memory_order_relaxed);
  if (advance_clock && answer.status == ring::ReplyStatus::kOk &&
      CurrentRole() == ThreadRole::kDriver) {
    AdvanceTo({static_cast<std::int64_t>(answer.value_ps)});
    if (CallObserver* const observer = Observer()) observer->WaitEnded(*record, answer.value_ps);
  }
  return answer;
}

int Session::ThreadsAsking() noexcept { return asking.load(std::memory_order_relaxed); }

int Session::ThreadsAwaitingWork() noexcept {
  return awaiting_work.load(std::memory_order_relaxed);
}

std::uint32_t Session::InternWork(std::span<const std::byte> definition) noexcept {
  return core::InternWork(definition, {}).id;
}

InternedWork InternWork(std::span<const std::byte> definition,
                        std::span<const std::byte> context) noexcept {
  if (definition.size() + sizeof(ring::DefineWork) > ring::kMaxRecordBytes) return {};
  SessionState& state = GetState();
  const std::uint64_t hash = base::Hash64(definition.data(), definition.size());
  const std::lock_guard guard(state.works_lock);
  if (const InternedWork known = state.works.Find(hash, definition); known.id != 0) return known;
  const std::uint32_t id = TheSession()->NewId();
  const InternedWork kept = state.works.Insert(hash, definition, id);
  state.identities.Note(id, hash);
  ring::DefineWork record{};
  record.header.kind = ring::RecordKind::kDefineWork;
  record.work = id;
  record.definition_bytes = static_cast<std::uint32_t>(definition.size());
  constexpr std::byte kPadding[8] = {};
  const std::size_t padding = -definition.size() % 8;
  const std::span<const std::byte> tail[] = {definition, {kPadding, padding}, context};
  const bool fits =
      sizeof(record) + definition.size() + padding + context.size() <= ring::kMaxRecordBytes;
  state.writer.Append(&record.header, sizeof(record),
                      std::span(tail).first(fits && !context.empty() ? 3 : 1));
  return kept;
}

std::span<const std::byte> FindWork(std::uint32_t id) noexcept {
  SessionState& state = GetState();
  const std::lock_guard guard(state.works_lock);
  return state.works.Definition(id);
}

std::uint32_t Session::NewId() noexcept {
  return GetState().next_id.fetch_add(1, std::memory_order_relaxed);
}

void BeginTearDown() noexcept {
  if (Session::Existing() != nullptr) {
    CheckPublishedClock();
    GetState().writer.TellDamage();
  }
  tearing_down.store(true, std::memory_order_relaxed);
}
bool IsTearingDown() noexcept { return tearing_down.load(std::memory_order_relaxed); }

std::uint64_t ThreadWorkCount() noexcept { return thread_work; }

bool HasBegun() noexcept { return begun.load(std::memory_order_relaxed); }

}  // namespace eidolon::shim::core
