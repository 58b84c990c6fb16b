// `process_clock_ps` is the clock; all times are picoseconds. What stands in the shared segment is
// a copy for the agent, and the floor is the agent's promise to other ranks that this process does
// nothing earlier. Every path that makes a record or shows the time therefore uses at least the
// floor (RaiseToFloor, RecordClock). The program can overwrite shared memory, so a copy above the
// clock, or a floor above its own copy, is damage and is reported instead of being believed.
//
// The models differ in how threads add up. In the fixed model costs are added to one clock
// (fetch_add), as if drivers took turns, which makes the sum independent of how the machine
// schedules them. In the measured model each thread has its own time, and the clock is the latest
// of them.
#include "shim/core/rank_clock.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "shim/core/counted_work.h"
#include "shim/core/damage.h"
#include "shim/core/frame_count.h"
#include "shim/core/operator_count.h"
#include "shim/core/server_page.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/core/thread_work.h"
#include "shim/program/host_time/jitter.h"

namespace eidolon::shim::core {
namespace {

// The name under which a clock reading is a call of the program.
constexpr std::uint64_t kClockReading = 1;

constinit ClockSource source{};
constinit std::atomic<bool> started{false};
constinit std::atomic<std::uint64_t> process_clock_ps{0};
constinit host_time::Jitter* jitter = nullptr;  // Never destroyed. Null: no delays.
constinit std::atomic<bool> event_queries_are_shared{
    false};  // With threads that do not move the clock.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool after_fruitless_query = false;

// The name of a call as a number that is the same in all processes: where it lies in this library.
std::uint64_t CallNumber(const char* name) {
  return reinterpret_cast<std::uintptr_t>(name) - reinterpret_cast<std::uintptr_t>(&source);
}

// Host work on the target, with the delays that fall into it.
std::uint64_t WithDelays(std::uint64_t work_ps) {
  return jitter == nullptr ? work_ps : work_ps + jitter->DelaysIn(work_ps);
}

void StartJitter(const ring::HostJitter& wanted) {
  if (wanted.per_second <= 0) return;
  alignas(host_time::Jitter) static std::byte storage[sizeof(host_time::Jitter)];
  jitter = new (storage) host_time::Jitter({.per_second = wanted.per_second,
                                            .length_ps = wanted.length_ps,
                                            .exponential = wanted.exponential != 0,
                                            .seed = wanted.seed});
}

void RaiseTo(std::atomic<std::uint64_t>& value, std::uint64_t at_least) {
  std::uint64_t seen = value.load(std::memory_order_relaxed);
  while (seen < at_least &&
         !value.compare_exchange_weak(seen, at_least, std::memory_order_acq_rel)) {
  }
}

std::atomic<std::uint64_t>& ProcessClock() { return process_clock_ps; }

// Raises what the agent sees. Every value that is published was the clock's before.
void Publish(std::uint64_t clock_ps) {
  std::atomic<std::uint64_t>& published = source.cursors->clock_ps.value;
  std::uint64_t seen = published.load(std::memory_order_acquire);
  while (seen < clock_ps) {
    if (published.compare_exchange_weak(seen, clock_ps, std::memory_order_acq_rel)) return;
  }
  if (seen > clock_ps) CheckPublishedClock();
}

// The agent told others that this process does nothing before its floor. The copy is raised first.
// A floor is believed only up to its copy: one stray write cannot change both words.
std::uint64_t FloorAbove(std::uint64_t clock_ps) {
  const std::uint64_t floor = source.cursors->floor_ps.value.load(std::memory_order_acquire);
  if (floor <= clock_ps) return clock_ps;
  if (floor <= source.cursors->floor_copy_ps.value.load(std::memory_order_acquire)) return floor;
  NoteDamage("the floor of the rank clock was overwritten");
  return clock_ps;
}

void RaiseToFloor() {
  const std::uint64_t clock = ProcessClock().load(std::memory_order_relaxed);
  const std::uint64_t floor = FloorAbove(clock);
  if (clock >= floor) return;
  RaiseTo(ProcessClock(), floor);
  Publish(floor);
}

// Operators that count before one call. Whoever runs more without giving the GPU work compiles or
// computes on the host, which this model does not know; how much of that is done may depend on what
// caches on disk hold.
constexpr std::uint32_t kOperatorsMax = 256;
// Python functions have a limit too: loops over the parameters of a large model call tens of
// thousands.
constexpr std::uint64_t kFramesMax = 65536;

bool GivesWork(ring::CallClass call_class) {
  return call_class == ring::CallClass::kLaunch || call_class == ring::CallClass::kLibrary ||
         call_class == ring::CallClass::kDnn || call_class == ring::CallClass::kCopy;
}

// Kernels of JIT compilers are launched by the driver's interface, PyTorch's own by the runtime's.
bool IsDriversLaunch(const char* name) {
  return std::string_view(name).starts_with("cuLaunchKernel");
}

// The framework's and the program's work before a call, in the fixed model. Frameworks without
// countable operators, and compiled programs, which run none before their launches, count by call,
// if no more is known by their Python.
std::uint64_t FrameworkWork(const char* name, ring::CallClass call_class) {
  const std::uint32_t operators = TakeOperators();
  const std::uint64_t python = std::min(TakeFrames(), kFramesMax) * source.costs.frame_ps;
  if (operators > 0) {
    return std::min(operators, kOperatorsMax) * source.costs.operator_ps + python;
  }
  if (!GivesWork(call_class)) return python;
  if (OperatorsAreCounted() && !IsDriversLaunch(name)) return python;
  return std::max(source.costs.framework_ps, python);
}

bool IsFree(ring::CallClass call_class) {
  const bool follows = std::exchange(after_fruitless_query, false);
  if (!event_queries_are_shared.load(std::memory_order_relaxed)) return false;
  return call_class == ring::CallClass::kEventQuery ||
         (follows && call_class == ring::CallClass::kQuery);
}

// Brings the measured clock of the calling thread up to `ticks`, where it makes `call`.
void Measure(ThreadClock& clock, std::uint64_t ticks, std::uint64_t call) {
  if (clock.last_ticks == 0) {
    return BeginToTime(clock, ticks, ProcessClock().load(std::memory_order_relaxed));
  }
  const std::uint64_t work = TakeOwnWork(clock, ticks);
  const std::uint64_t fault_ps = TakePageFaults(clock, work);
  clock.own_ps += WithDelays(CostOfWork(clock, CodeKind::kBetweenCalls, work, fault_ps, call));
  clock.since_switch_ps += work;
  clock.last_ticks = ticks;
  RaiseTo(ProcessClock(), clock.own_ps);
  Publish(clock.own_ps);
}

// Returns whether work of threads is timed: all of it, or what is far beyond what is counted.
bool TimesWork() { return ring::TimesThreads(source.model); }

// The work before a call, where it is not measured.
std::uint64_t WorkBefore(const char* name, ring::CallClass call_class) {
  const std::uint64_t counted = FrameworkWork(name, call_class);
  if (!TimesWork()) return counted;
  ThreadClock& own = thread_clock;
  own.call = CallNumber(name);
  own.call_detail = 0;
  const std::uint64_t ticks = ReadTicks();
  if (own.last_ticks != 0) return CostOfCountedWork(own, ticks, counted, own.call);
  BeginToTime(own, ticks, ProcessClock().load(std::memory_order_relaxed));
  return counted;
}

// Whether the calling thread made its last call so long ago that it may have computed since.
bool ComputesForLong() {
  const std::uint64_t since = thread_clock.last_ticks;
  return TimesWork() && since != 0 && CurrentRole() == ThreadRole::kDriver &&
         TicksToPs(ReadTicks() - since) >= kBeyondCountedPs;
}

}  // namespace

void StartClock(const ClockSource& where) noexcept {
  source = where;
  RaiseTo(ProcessClock(), where.start_ps);
  Publish(where.start_ps);
  StartJitter(where.jitter);
  if (TimesWork()) {
    StartToTimeWork({.target_speed = where.target_speed,
                     .speed_ratio = where.speed_ratio,
                     .shared_costs = where.shared_costs});
  }
  started.store(true, std::memory_order_release);
}

void DetachClock() noexcept { started.store(false, std::memory_order_relaxed); }

Charge ChargeCall(const char* name, ring::CallClass call_class) noexcept {
  if (!started.load(std::memory_order_acquire)) return {};
  std::atomic<std::uint64_t>& clock = ProcessClock();
  RaiseToFloor();
  if (CurrentRole() != ThreadRole::kDriver) {
    const base::SimTime now{static_cast<std::int64_t>(clock.load(std::memory_order_acquire))};
    return {.began = now, .ended = now};
  }
  std::uint64_t began;
  std::uint64_t ended;
  if (ring::HasCosts(source.model)) {
    if (source.model == ring::HostModel::kCounted) CountFrames();
    const std::uint64_t cost =
        WithDelays(WorkBefore(name, call_class) +
                   (IsFree(call_class) ? 0 : source.costs.ps[static_cast<int>(call_class)]));
    began = clock.fetch_add(cost, std::memory_order_acq_rel);
    ended = began + cost;
    Publish(ended);
  } else {
    ThreadClock& own = thread_clock;
    const std::uint64_t ticks = ReadTicks();
    own.call = CallNumber(name);
    own.call_detail = 0;
    Measure(own, ticks, own.call);
    SampleSpeed(own, ticks);
    began = clock.load(std::memory_order_relaxed);
    own.own_ps += source.costs.ps[static_cast<int>(call_class)];
    RaiseTo(clock, own.own_ps);
    Publish(own.own_ps);
    ended = clock.load(std::memory_order_relaxed);
  }
  return {.began = base::SimTime{static_cast<std::int64_t>(began)},
          .ended = base::SimTime{static_cast<std::int64_t>(ended)}};
}

void NotePinnedMemory() noexcept {
  if (CurrentRole() == ThreadRole::kHelper) {
    event_queries_are_shared.store(true, std::memory_order_relaxed);
  }
}

void NoteCommunicator() noexcept {
  event_queries_are_shared.store(true, std::memory_order_relaxed);
}

void NoteCallDetail(std::uint64_t detail) noexcept { thread_clock.call_detail = detail; }

void NoteFruitlessEventQuery() noexcept { after_fruitless_query = true; }

void EndCall() noexcept {
  if (!TimesWork()) return;
  if (!started.load(std::memory_order_relaxed)) return;
  ThreadClock& own = thread_clock;
  if (own.last_ticks == 0) return;
  EndCallAt(own, ReadTicks());
}

base::SimTime Now() noexcept {
  if (!started.load(std::memory_order_acquire)) {
    const ring::ServerPage* page = MappedServerPage();
    const std::uint64_t job =
        page == nullptr ? 0 : page->job_clock_ps.load(std::memory_order_acquire);
    // A fork goes on from where its parent was.
    return {static_cast<std::int64_t>(std::max(job, ProcessClock().load()))};
  }
  RaiseToFloor();
  if (source.model == ring::HostModel::kMeasured && CurrentRole() == ThreadRole::kDriver) {
    ThreadClock& own = thread_clock;
    Measure(own, ReadTicks(), kClockReading);
    // How often a wait looks at the clock depends on this machine: readings in a row are one.
    if (own.work != nullptr && own.call != kClockReading) {
      own.work->After(kClockReading, 0);
      own.call = kClockReading;
    }
  }
  if (ring::HasCosts(source.model) && ComputesForLong()) {
    AdvanceBy({static_cast<std::int64_t>(
        WithDelays(WorkBefore("reading of the clock", ring::CallClass::kQuery)))});
    EndCall();
  }
  return {static_cast<std::int64_t>(ProcessClock().load(std::memory_order_acquire))};
}

void AdvanceTo(base::SimTime time) noexcept {
  if (!started.load(std::memory_order_acquire)) return;
  const auto target = static_cast<std::uint64_t>(std::max<std::int64_t>(time.ps, 0));
  RaiseTo(ProcessClock(), target);
  thread_clock.own_ps = std::max(thread_clock.own_ps, target);
  Publish(target);
}

void AdvanceBy(base::Duration duration) noexcept {
  if (!started.load(std::memory_order_acquire)) return;
  const auto step = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.ps, 0));
  const std::uint64_t now = ProcessClock().fetch_add(step, std::memory_order_acq_rel) + step;
  thread_clock.own_ps = std::max(thread_clock.own_ps, now);
  Publish(now);
}

std::uint64_t RecordClock() noexcept {
  return FloorAbove(ProcessClock().load(std::memory_order_acquire));
}

std::int64_t ClockReading() noexcept {
  return static_cast<std::int64_t>(started.load(std::memory_order_acquire) ? RecordClock()
                                                                           : ProcessClock().load());
}

void CheckPublishedClock() noexcept {
  if (!started.load(std::memory_order_acquire)) return;
  const std::uint64_t seen = source.cursors->clock_ps.value.load(std::memory_order_acquire);
  if (seen > ProcessClock().load(std::memory_order_acquire)) {
    NoteDamage("the rank clock was overwritten");
  }
}

void NoteTrap() noexcept {
  ThreadClock& own = thread_clock;
  if (!TimesWork() || own.last_ticks == 0) return;
  LeaveOutTrap(own, ReadTicks());
}

void NoteWaited() noexcept {
  thread_clock.own_ps =
      std::max(thread_clock.own_ps, ProcessClock().load(std::memory_order_acquire));
}

void NoteSleptInShim() noexcept { thread_clock.slept = true; }

}  // namespace eidolon::shim::core
