// The engine lives in the agent, and only the process can run its functions: an event of ours
// stands in the stream before each function, and a thread asks the agent when the event ends. It
// asks for the first function of each stream only, as the others follow them, and runs the earliest
// one whose time the clock has reached. Functions leave the queue before they run and leave
// `outstanding` after, which is what waits look at.
//
// If the clock does not get there by itself, the program waits for the function by means of its
// own. The thread then tells the agent of the wait as for any synchronisation, so that other ranks
// may act first, and moves the clock. When not even the time is known, another thread asks for it,
// because the question blocks (AskForOne).
#include "shim/gpu/stream/callback.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "services/contract/ring/record.h"
#include "shim/core/driver_rest.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/simulation_work.h"
#include "shim/core/spin_lock.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/stream/capture_hooks.h"

namespace eidolon::shim::gpu {
namespace {

constexpr std::int64_t kShortestLookNs = 50'000;
constexpr std::int64_t kLongestLookNs = 2'000'000;
constexpr std::int64_t kLookForAgentNs = 50'000'000;
// The program rests when its drivers are blocked for so long; a clock that stands still for so long
// waits for nobody.
constexpr std::int64_t kRestNs = 1'000'000;
constexpr std::int64_t kStandstillNs = 100'000'000;

// One host function on its way. `event` is an event of ours, recorded just before it.
struct Callback {
  std::uint16_t ring_device;
  std::uint64_t stream;  // Unique id.
  std::uint32_t event;
  void (*function)(void*);
  void* data;
};

struct Callbacks {
  core::SpinLock lock;  // Guards queue, thread_started and question.
  std::deque<Callback> queue;
  bool thread_started = false;
  std::atomic<std::size_t> outstanding{0};  // Queued or running.
  // A wait raises `asked`; the thread then looks at everything and stores what it saw in `looked`.
  std::atomic<std::uint32_t> asked{0};
  std::atomic<std::uint32_t> looked{0};
  // By a wait of a thread that does not move the clock: the next look takes all that is reached.
  std::atomic<bool> regardless{false};
  // The callback that AskForOne asks for. Its event is destroyed by whoever needs it last.
  struct Question {
    bool open = false;
    bool destroys = false;
    Callback callback{};
  } question;  // Guarded by lock.
};

Callbacks& AllCallbacks() {
  static Callbacks* const callbacks = new Callbacks;  // Threads may outlive main.
  return *callbacks;
}

[[gnu::tls_model("initial-exec")]] constinit thread_local bool on_callback_thread = false;

// Returns when the stream reaches it, if the engine knows.
std::optional<base::SimTime> EndOf(core::Session& session, const Callback& callback) {
  ring::WaitRecord record{};
  record.header.kind = ring::RecordKind::kQueryEvent;
  record.header.device = callback.ring_device;
  record.observer = 1;
  record.id = callback.event;
  const core::Session::Answer answer = core::Ask(session, record, false);
  if (answer.status != ring::ReplyStatus::kOk) return std::nullopt;
  return base::SimTime{static_cast<std::int64_t>(answer.value_ps)};
}

void SendEvent(core::Session& session, ring::RecordKind kind, std::uint16_t ring_device,
               std::uint32_t stream, std::uint32_t event) {
  ring::EventRecord record{};
  record.header.kind = kind;
  record.header.device = ring_device;
  record.stream = stream;
  record.event = event;
  core::Append(session, record);
}

// The callback that its stream reaches first, of the first callbacks of all streams.
struct Reached {
  Callback callback{};
  base::SimTime end;
};

std::optional<Reached> FindReached(core::Session& session, Callbacks& all) {
  std::deque<Callback> heads;
  {
    const std::lock_guard guard(all.lock);
    for (const Callback& entry : all.queue) {
      const bool first = std::ranges::none_of(
          heads, [&](const Callback& head) { return head.stream == entry.stream; });
      if (first) heads.push_back(entry);
    }
  }
  std::optional<Reached> found;
  for (const Callback& head : heads) {
    const auto end = EndOf(session, head);
    if (end.has_value() && (!found || *end < found->end)) found = Reached{head, *end};
  }
  return found;
}

void Destroy(core::Session& session, const Callback& callback) {
  SendEvent(session, ring::RecordKind::kEventDestroy, callback.ring_device, 0, callback.event);
}

void Run(core::Session& session, Callbacks& all, const Callback& callback) {
  {
    const std::lock_guard guard(all.lock);
    all.queue.erase(std::ranges::find(all.queue, callback.event, &Callback::event));
  }
  callback.function(callback.data);
  bool is_asked_for = false;
  {
    const std::lock_guard guard(all.lock);
    Callbacks::Question& question = all.question;
    is_asked_for = question.open && question.callback.event == callback.event;
    question.destroys = question.destroys || is_asked_for;
  }
  if (!is_asked_for) Destroy(session, callback);
  all.outstanding.fetch_sub(1, std::memory_order_release);
  core::NoteHostFunctionRan();
}

// The program waits for the callback: the engine is told as for any other wait.
void TellOfWait(core::Session& session, const Callback& callback) {
  ring::WaitRecord record{};
  record.header.kind = ring::RecordKind::kSynchronizeEvent;
  record.header.device = callback.ring_device;
  record.id = callback.event;
  core::Ask(session, record, false);
}

void Tell(Callbacks& all) {
  all.asked.fetch_add(1, std::memory_order_release);
  core::FutexWake(&all.asked, 1);
}

// A thread of its own: another callback may come first, or this one be run meanwhile.
void* AskForOne(void*) {
  Callbacks& all = AllCallbacks();
  const Callback callback = all.question.callback;  // Not changed while the question is open.
  core::Session* session = core::Session::Existing();
  if (session != nullptr) TellOfWait(*session, callback);
  bool destroys = false;
  {
    const std::lock_guard guard(all.lock);
    destroys = all.question.destroys;
    all.question = {};
  }
  if (session != nullptr && destroys) Destroy(*session, callback);
  Tell(all);
  return nullptr;
}

bool StartThread(void* (*body)(void*)) {
  sigset_t every;
  sigset_t before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, body, nullptr) == 0;
  if (started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// What the program does while a callback's time is ahead of the clock. Used by the thread alone.
class Program {
 public:
  enum class Doing { kGoesOn, kRests, kStandsStill };
  Doing Look() {
    const std::int64_t now_ns = core::MonotonicNs();
    if (const base::SimTime clock = core::Now(); clock != clock_) {
      clock_ = clock;
      still_since_ns_ = now_ns;
    }
    if (!rest_ || !rest_->Lasts()) {
      rest_.emplace();
      rest_since_ns_ = now_ns;
    } else if (now_ns - rest_since_ns_ >= kRestNs) {
      return Doing::kRests;
    }
    return now_ns - still_since_ns_ >= kStandstillNs ? Doing::kStandsStill : Doing::kGoesOn;
  }
  // Something has happened, or nothing is waited for.
  void Forget() {
    rest_.reset();
    clock_ = base::SimTime::Max();
  }

 private:
  std::optional<core::DriverRest> rest_;
  std::int64_t rest_since_ns_ = 0;
  base::SimTime clock_ = base::SimTime::Max();
  std::int64_t still_since_ns_ = 0;
};

// The program rests, and no callback's time is known: other ranks decide it, for whom it matters
// that this one waits.
void AskForFirst(Callbacks& all) {
  {
    const std::lock_guard guard(all.lock);
    if (all.question.open || all.queue.empty()) return;
    all.question = {.open = true, .destroys = false, .callback = all.queue.front()};
  }
  if (StartThread(AskForOne)) return;
  const std::lock_guard guard(all.lock);
  all.question = {};
}

// Runs what is due; true when there was something.
bool RunDue(core::Session& session, Callbacks& all, Program& program) {
  const bool regardless = all.regardless.exchange(false, std::memory_order_acq_rel);
  bool ran = false;
  while (const auto reached = FindReached(session, all)) {
    if (!regardless && reached->end > core::Now()) {
      const Program::Doing doing = program.Look();
      if (doing == Program::Doing::kGoesOn) return ran;
      if (doing == Program::Doing::kRests) {
        TellOfWait(session, reached->callback);
        core::AdvanceTo(reached->end);
      }
    }
    Run(session, all, reached->callback);
    program.Forget();  // Whom it woke goes on first.
    ran = true;
  }
  if (all.outstanding.load(std::memory_order_acquire) == 0) {
    program.Forget();
  } else if (program.Look() == Program::Doing::kRests) {
    AskForFirst(all);
    program.Forget();
  }
  return ran;
}

void* RunCallbacks(void*) {
  on_callback_thread = true;
  Callbacks& all = AllCallbacks();
  Program program;
  std::int64_t look_ns = kShortestLookNs;
  while (true) {
    const std::uint32_t asked = all.asked.load(std::memory_order_acquire);
    core::Session* session = core::Session::Existing();
    if (session == nullptr) return nullptr;
    const bool ran = RunDue(*session, all, program);
    all.looked.store(asked, std::memory_order_release);
    core::FutexWake(&all.looked, 1 << 30);
    look_ns = ran ? kShortestLookNs : std::min(look_ns * 2, kLongestLookNs);
    const bool idle = all.outstanding.load(std::memory_order_acquire) == 0;
    core::FutexWait(&all.asked, asked, idle ? kLookForAgentNs : look_ns);
  }
}

void Queue(core::Session& session, Stream& stream, HostFunction function, void* data) {
  Callbacks& all = AllCallbacks();
  const std::uint16_t device = RingDevice(stream.device);
  const std::uint32_t event = session.NewId();
  SendEvent(session, ring::RecordKind::kEventCreate, device, 0, event);
  SendEvent(session, ring::RecordKind::kEventRecord, device, stream.id, event);
  bool start;
  all.outstanding.fetch_add(1, std::memory_order_release);
  core::NoteHostFunctionQueued();
  {
    const std::lock_guard guard(all.lock);
    all.queue.push_back({device, stream.unique_id, event, function, data});
    start = !std::exchange(all.thread_started, true);
  }
  if (start) StartThread(RunCallbacks);
  Tell(all);
}

}  // namespace

std::uint32_t NewCallbackId() noexcept {
  core::Session* session = core::Session::Existing();
  return session == nullptr ? 0 : session->NewId();
}

Status EnqueueCallback(Stream& stream, void (*function)(void*), void* data) noexcept {
  if (function == nullptr) return Status::kInvalidValue;
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  stream.issued.fetch_add(1, std::memory_order_relaxed);
  Queue(*session, stream, function, data);
  ring::CallbackRecord record{};
  record.header.kind = ring::RecordKind::kHostCallback;
  record.header.device = RingDevice(stream.device);
  record.stream = stream.id;
  record.callback = session->NewId();
  core::Append(*session, record);
  return Status::kSuccess;
}

Status LaunchHostFunction(StreamHandle handle, void (*function)(void*), void* data) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (function == nullptr) return Status::kInvalidValue;
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureCallback(*stream, function, data);
  }
  return EnqueueCallback(*stream, function, data);
}

Status EnqueueGraphCallback(Stream& stream, void (*function)(void*), void* data) noexcept {
  if (function == nullptr) return Status::kInvalidValue;
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  Queue(*session, stream, function, data);
  return Status::kSuccess;
}

void RunDueCallbacks() noexcept {
  Callbacks& all = AllCallbacks();
  if (on_callback_thread || all.outstanding.load(std::memory_order_acquire) == 0) return;
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return;
  if (core::CurrentRole() != core::ThreadRole::kDriver) {
    all.regardless.store(true, std::memory_order_release);
  }
  const std::uint32_t wanted = all.asked.fetch_add(1, std::memory_order_acq_rel) + 1;
  core::FutexWake(&all.asked, 1);
  while (true) {
    const std::uint32_t looked = all.looked.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(looked - wanted) >= 0) return;
    core::FutexWait(&all.looked, looked, kLookForAgentNs);
    if (!session->agent_alive() || core::IsTearingDown()) return;
  }
}

}  // namespace eidolon::shim::gpu
