// A correlation number joins a call and what it put on a device. A call gets a number when it
// begins, records that it appends to the ring take that number, and all of it is thread-local, as a
// CUDA call issues its work on its own thread. Math libraries and NCCL launch through the runtime
// in reality, so each work that they issue becomes a runtime launch with a number of its own. Their
// time is cut at each issue: a launch lasts from the one before to its own.
//
// What is kept is bounded; what comes beyond is counted as dropped. The lock is a spin lock, held
// for little more than appending to a vector or swapping the batch, and the subscriber's function
// is never called under it. The observer's functions must not throw into the program's call.
#include "shim/vendor/cupti/watch.h"

#include <pthread.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "services/contract/ring/record.h"
#include "shim/core/session.h"
#include "shim/core/system.h"
#include "shim/core/thread_object.h"
#include "shim/program/time/tick_clock.h"
#include "shim/vendor/cupti/callbacks.h"
#include "shim/vendor/cupti/device_record.h"
#include "shim/vendor/cupti/operation_name.h"

namespace eidolon::shim::cupti {
namespace {

constexpr CallbackName kLaunchOfLibrary{Api::kRuntime,
                                        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060};

constexpr const char* kFunctionOfLibrary = "cudaLaunchKernelExC";

// The call in progress on this thread.
struct ThreadCall {
  const char* function = nullptr;  // Null: none, or it began before anybody watched.
  CallbackName name;
  std::uint32_t correlation = 0;
  std::uint64_t begin_ps = 0;
};
thread_local ThreadCall thread_call;

using ExternalStacks = std::array<std::vector<std::uint64_t>, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE>;
ExternalStacks& ThreadStacks() { return core::ThreadObject<ExternalStacks>(); }

constinit std::atomic<bool> system_thread_ids{false};

// Names are literals: each is looked up once in a thread.
CallbackName NameOf(const char* function) {
  struct Entry {
    const char* function = nullptr;
    CallbackName name;
  };
  constexpr std::size_t kEntries = 512;
  auto& seen = core::ThreadObject<std::array<Entry, kEntries>>();
  Entry& entry = seen[(reinterpret_cast<std::uintptr_t>(function) >> 3) % kEntries];
  if (entry.function != function) entry = {function, NameCall(function)};
  return entry.name;
}

std::vector<ExternalId> ExternalIds() {
  std::vector<ExternalId> ids;
  const ExternalStacks& stacks = ThreadStacks();
  for (std::size_t kind = 1; kind < stacks.size(); ++kind) {
    if (stacks[kind].empty()) continue;
    ids.push_back({static_cast<CUpti_ExternalCorrelationKind>(kind), stacks[kind].back()});
  }
  return ids;
}

bool IsTransfer(const ring::CommunicationOp& op) {
  return op.kind == ring::CommunicationKind::kSend || op.kind == ring::CommunicationKind::kReceive;
}

// One for each operation of the device: the agent runs a group's sends and receives as one, behind
// its collectives.
std::vector<ring::CommunicationOp> OperationsOf(const ring::CommunicationRecord& record,
                                                std::span<const std::span<const std::byte>> tail) {
  std::vector<ring::CommunicationOp> operations;
  if (tail.empty()) return operations;
  const auto* ops = reinterpret_cast<const ring::CommunicationOp*>(tail.front().data());
  const std::size_t count =
      std::min<std::size_t>(record.op_count, tail.front().size() / sizeof(*ops));
  std::optional<ring::CommunicationOp> transfers;
  for (const ring::CommunicationOp& op : std::span(ops, count)) {
    if (IsTransfer(op)) {
      if (!transfers.has_value()) transfers = op;
    } else {
      operations.push_back(op);
    }
  }
  if (transfers.has_value()) operations.push_back(*transfers);
  return operations;
}

}  // namespace

std::vector<std::uint64_t>* ExternalStackOf(CUpti_ExternalCorrelationKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return kind == CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
                 index >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE
             ? nullptr
             : &ThreadStacks()[index];
}

void UseSystemThreadIds(bool use) { system_thread_ids.store(use, std::memory_order_relaxed); }
bool UsesSystemThreadIds() { return system_thread_ids.load(std::memory_order_relaxed); }
std::uint32_t ThreadNumber() {
  if (UsesSystemThreadIds()) return static_cast<std::uint32_t>(core::RawSyscall(SYS_gettid));
  return static_cast<std::uint32_t>(pthread_self());
}

Watch& Watch::Get() {
  static Watch& watch = *new Watch;  // Never destroyed: threads may outlive main.
  return watch;
}

void Watch::Enable(CUpti_ActivityKind kind, bool enable) {
  const std::lock_guard guard(lock_);
  enabled_.set(static_cast<std::size_t>(kind), enable);
  FollowLocked();
}

void Watch::FollowLocked() {
  constexpr CUpti_ActivityKind kOfHost[] = {
      CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL, CUPTI_ACTIVITY_KIND_STREAM,
      CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_DEVICE,      CUPTI_ACTIVITY_KIND_NAME,
      CUPTI_ACTIVITY_KIND_MARKER,  CUPTI_ACTIVITY_KIND_MARKER_DATA};
  const bool host = std::ranges::any_of(
      kOfHost, [this](auto kind) { return enabled_.test(static_cast<std::size_t>(kind)); });
  host_records_.store(host, std::memory_order_relaxed);
  core::Observe(enabled_.any() || Callbacks::Get().any() ? this : nullptr);
}

void Watch::FollowCallbacks() {
  Callbacks::Get().AskForLibraryLaunch([] { return Get().LaunchOfLibrary(); });
  const std::lock_guard guard(lock_);
  FollowLocked();
}

bool Watch::IsEnabled(CUpti_ActivityKind kind) const {
  const std::lock_guard guard(lock_);
  return enabled_.test(static_cast<std::size_t>(kind));
}

bool Watch::IsWatching() const {
  const std::lock_guard guard(lock_);
  return enabled_.any();
}

void Watch::EnableCall(Api api, CUpti_CallbackId id, bool enable) {
  const std::lock_guard guard(lock_);
  if (id >= kCalls) return;
  (api == Api::kRuntime ? disabled_runtime_ : disabled_driver_).set(id, !enable);
}

Watch::Batch Watch::Take() {
  Batch taken;
  const std::lock_guard guard(lock_);
  std::swap(taken, batch_);
  return taken;
}

bool Watch::WantsCall(CallbackName name) const {
  switch (name.api) {
    case Api::kRuntime:
      return enabled_.test(CUPTI_ACTIVITY_KIND_RUNTIME) && !disabled_runtime_.test(name.id);
    case Api::kDriver:
      return enabled_.test(CUPTI_ACTIVITY_KIND_DRIVER) && !disabled_driver_.test(name.id);
    default:
      return false;
  }
}

template <typename T>
void Watch::Keep(std::vector<T>* kept, T value) {
  if (kept->size() >= kKeptMax) {
    ++batch_.dropped;
  } else {
    kept->push_back(std::move(value));
  }
}

void Watch::KeepRecord(const HostRecord& record) noexcept {
  const std::lock_guard guard(lock_);
  if (!enabled_.test(static_cast<std::size_t>(KindOf(record)))) return;
  try {
    Keep(&batch_.host, record);
  } catch (...) {
    ++batch_.dropped;
  }
}

std::uint32_t Watch::CurrentCorrelation() {
  return thread_call.function == nullptr ? 0 : thread_call.correlation;
}

void Watch::KeepCall(CallbackName name, std::uint32_t correlation, std::uint64_t begin_ps,
                     std::uint64_t end_ps) {
  WatchedCall call{.correlation = correlation,
                   .thread = ThreadNumber(),
                   .name = name,
                   .begin_ps = begin_ps,
                   .end_ps = end_ps,
                   .external = ExternalIds()};
  const std::lock_guard guard(lock_);
  if (!enabled_.test(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) call.external.clear();
  if (WantsCall(name)) Keep(&batch_.calls, std::move(call));
}

void Watch::CallBegan(const char* name, base::SimTime began,
                      const core::CallArguments* arguments) noexcept {
  time::FollowTicks();
  const CallbackName called = NameOf(name);
  if (called.api == Api::kNone) {
    thread_call = {};
    return;
  }
  thread_call = {.function = name,
                 .name = called,
                 .correlation = next_correlation_.fetch_add(1, std::memory_order_relaxed),
                 .begin_ps = static_cast<std::uint64_t>(began.ps)};
  if (called.api != Api::kLibrary && Callbacks::Get().any()) {
    Callbacks::Get().Began(
        {.name = called, .function = name, .correlation = thread_call.correlation}, arguments);
  }
}

void Watch::CallEnded(base::SimTime now, std::uint64_t result) noexcept {
  const ThreadCall call = std::exchange(thread_call, {});
  if (call.function == nullptr || call.name.api == Api::kLibrary) return;
  if (Callbacks::Get().any()) Callbacks::Get().Ended(result);
  try {
    KeepCall(call.name, call.correlation, call.begin_ps,
             std::max(call.begin_ps, static_cast<std::uint64_t>(now.ps)));
  } catch (...) {
    const std::lock_guard guard(lock_);
    ++batch_.dropped;
  }
}

std::uint32_t Watch::CorrelationOfIssue(std::uint64_t now_ps) {
  ThreadCall& call = thread_call;
  if (call.function == nullptr) return 0;
  if (call.name.api != Api::kLibrary) return call.correlation;
  // A library's launches are calls of the runtime, one after the other.
  const std::uint32_t correlation = next_correlation_.fetch_add(1, std::memory_order_relaxed);
  KeepCall(kLaunchOfLibrary, correlation, std::min(call.begin_ps, now_ps), now_ps);
  call.begin_ps = now_ps;
  return correlation;
}

std::optional<TellableCall> Watch::LaunchOfLibrary() {
  if (thread_call.function == nullptr || thread_call.name.api != Api::kLibrary) return std::nullopt;
  return TellableCall{.name = kLaunchOfLibrary,
                      .function = kFunctionOfLibrary,
                      .correlation = next_correlation_.fetch_add(1, std::memory_order_relaxed)};
}

// What a library launches was not a call of the program.
void Watch::TellOfLibrary(const IssuedWork& work) {
  const bool is_library = thread_call.function != nullptr && thread_call.name.api == Api::kLibrary;
  if (!is_library || !Callbacks::Get().any()) return;
  const std::span<const std::byte> definition = DefinitionOf(work, {});
  const bool is_collective = definition.empty() && !work.collectives.empty();
  Callbacks::Get().Launched({.name = kLaunchOfLibrary,
                             .function = kFunctionOfLibrary,
                             .correlation = work.correlation,
                             .symbol = is_collective ? NameCollective(work.collectives.front())
                                       : definition.empty() ? nullptr
                                                            : NameWork(definition)});
}

void Watch::NoteStreamOperation(const ring::RecordHeader& record, std::uint32_t correlation) {
  const auto& event = reinterpret_cast<const ring::EventRecord&>(record);
  const std::lock_guard guard(lock_);
  if (record.kind == ring::RecordKind::kEventRecord) {
    if (!enabled_.test(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) return;
    Keep(&batch_.events, {correlation, record.device, event.stream, event.event});
  } else if (enabled_.test(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
    Keep(&batch_.waits, {.correlation = correlation,
                         .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
                         .ring_device = record.device,
                         .stream = event.stream,
                         .event = event.event,
                         .begin_ps = record.host_clock_ps,
                         .end_ps = record.host_clock_ps});
  }
}

void Watch::WorkIssued(const ring::RecordHeader& record,
                       std::span<const std::span<const std::byte>> tail,
                       std::uint64_t position) noexcept {
  try {
    IssuedWork work{.position = position,
                    .kind = record.kind,
                    .ring_device = record.device,
                    .stream = 0,
                    .subject = 0,
                    .correlation = 0,
                    .kinds = {},
                    .collectives = {},
                    .external = {},
                    .reported = 0};
    switch (record.kind) {
      case ring::RecordKind::kEventRecord:
      case ring::RecordKind::kStreamWaitEvent:
        NoteStreamOperation(record, thread_call.correlation);
        return;
      case ring::RecordKind::kLaunch: {
        const auto& launch = reinterpret_cast<const ring::LaunchRecord&>(record);
        work.stream = launch.stream;
        work.subject = launch.work;
        break;
      }
      case ring::RecordKind::kGraphLaunch: {
        const auto& launch = reinterpret_cast<const ring::GraphRecord&>(record);
        work.stream = launch.stream;
        work.subject = launch.graph;
        break;
      }
      case ring::RecordKind::kCommunication: {
        const auto& communication = reinterpret_cast<const ring::CommunicationRecord&>(record);
        if (communication.template_id != 0) return;
        work.stream = communication.stream;
        work.collectives = OperationsOf(communication, tail);
        break;
      }
      default:
        return;
    }
    work.correlation = CorrelationOfIssue(record.host_clock_ps);
    TellOfLibrary(work);
    work.external = ExternalIds();
    const std::lock_guard guard(lock_);
    work.kinds = enabled_;
    if (!enabled_.test(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) work.external.clear();
    if (enabled_.any()) Keep(&batch_.issued, std::move(work));
  } catch (...) {
    const std::lock_guard guard(lock_);
    ++batch_.dropped;
  }
}

void Watch::WaitEnded(const ring::RecordHeader& question, std::uint64_t end_ps) noexcept {
  const auto& wait = reinterpret_cast<const ring::WaitRecord&>(question);
  WatchedWait watched{.correlation = thread_call.correlation,
                      .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
                      .ring_device = question.device,
                      .stream = kNoStream,
                      .event = 0,
                      .begin_ps = question.host_clock_ps,
                      .end_ps = end_ps};
  switch (question.kind) {
    case ring::RecordKind::kSynchronizeStream:
      watched.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
      watched.stream = static_cast<std::uint32_t>(wait.id);
      break;
    case ring::RecordKind::kSynchronizeEvent:
      watched.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
      watched.event = static_cast<std::uint32_t>(wait.id);
      break;
    case ring::RecordKind::kSynchronizeDevice:
      break;
    default:
      return;
  }
  try {
    const std::lock_guard guard(lock_);
    if (enabled_.test(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) Keep(&batch_.waits, watched);
  } catch (...) {
    const std::lock_guard guard(lock_);
    ++batch_.dropped;
  }
}

}  // namespace eidolon::shim::cupti
