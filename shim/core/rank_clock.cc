#include "shim/core/rank_clock.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "shim/core/damage.h"
#include "shim/core/frame_count.h"
#include "shim/core/operator_count.h"
#include "shim/core/page_fault_cost.h"
#include "shim/core/server_page.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/core/tick_rate.h"
#include "shim/host_time/core_speed.h"
#include "shim/host_time/host_work.h"
#include "shim/host_time/jitter.h"
#include "shim/host_time/shared_costs.h"

namespace eidolon::shim::core {
namespace {

// A gap shorter than this is taken from the tick counter; a longer one may hold a pause by the
// operating system, so the thread's CPU time is read.
constexpr std::uint64_t kShortGapNs = 20'000;
// A thread that was off its core for longer finds the caches full of another process's data.
constexpr std::uint64_t kSwitchPs = 20'000'000;
constexpr std::int64_t kCalibrationNs = 500'000;
// From this length on, page faults in a stretch of work are counted: one more system call. A core
// twice as fast as the reference processor still counts them in all that is long there.
constexpr auto kCountedFaultsPs = static_cast<std::uint64_t>(host_time::kLongPs) / 2;
// How often a thread looks how fast its core is: 0.2 ms of work each time.
constexpr std::uint64_t kSpeedIntervalPs = 50'000'000'000;
// And the first times, so many times as often.
constexpr std::uint64_t kFirstSpeedsPart = 5;
// Of a trapped reading of the tick counter, what comes before our handler and after it.
constexpr std::uint64_t kTrapNs = 1'500;
// The name under which a clock reading is a call of the program.
constexpr std::uint64_t kClockReading = 1;
// Counted model: work that takes so much longer than its operators and functions stand for is
// something else. Work whose caches are cold after a switch takes up to three times as long.
constexpr std::uint64_t kBeyondCountedPs = 1'000'000'000;
constexpr std::uint64_t kBeyondCountedTimes = 4;
// What interrupts a program for less than this (a garbage collection of few objects) may happen in
// one run and not in the next.
constexpr double kInterruptionPs = 20e9;

constinit ClockSource source{};
constinit std::atomic<bool> started{false};
constinit std::atomic<std::uint64_t> process_clock_ps{0};
constinit double ps_per_tick = 0;
constinit std::uint64_t short_gap_ticks = 0;
constinit std::uint64_t speed_interval_ticks = 0;
constinit std::uint64_t page_fault_ps = 0;
constinit host_time::CoreSpeed* core_speed = nullptr;      // Made once, never destroyed.
constinit host_time::Jitter* jitter = nullptr;             // The same; null: no delays.
constinit host_time::SharedCosts* shared_costs = nullptr;  // The same; null: this rank alone.
constinit std::atomic<bool> pinned_memory_is_shared{false};
[[gnu::tls_model("initial-exec")]] constinit thread_local bool after_fruitless_query = false;

struct ThreadClock {
  std::uint64_t last_ticks;    // End of the last call, or begin of the one in progress; 0: none.
  std::int64_t cpu_ns;         // Thread CPU time at the last reading.
  std::uint64_t accounted_ps;  // Already charged, or spent in the shim, since that reading.
  std::uint64_t own_ps;
  std::uint64_t call;  // The call in progress, and what is known of it.
  std::uint64_t call_detail;
  std::uint64_t next_speed_ticks;
  std::uint64_t page_faults;      // At the end of the last long stretch of work.
  std::uint64_t since_switch_ps;  // Work since the thread was off its core.
  host_time::HostWork* work;      // Made with the first measurement; the thread's owner has it.
  bool slept;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadClock thread_clock{};

// Gives the thread's table back when the thread ends. What it still calls afterwards costs what it
// takes.
class WorkOwner {
 public:
  WorkOwner() = default;
  WorkOwner(const WorkOwner&) = delete;
  WorkOwner& operator=(const WorkOwner&) = delete;
  ~WorkOwner() {
    thread_clock.work = nullptr;
    work_.reset();
  }
  host_time::HostWork* Make() {
    work_.reset(new (std::nothrow) host_time::HostWork(shared_costs));
    return work_.get();
  }

 private:
  std::unique_ptr<host_time::HostWork> work_;
};

host_time::HostWork* MakeHostWork() {
  static thread_local WorkOwner owner;
  return owner.Make();
}

// The name of a call as a number that is the same in all processes: where it lies in this library.
std::uint64_t CallNumber(const char* name) {
  return reinterpret_cast<std::uintptr_t>(name) - reinterpret_cast<std::uintptr_t>(&source);
}

std::uint64_t TimeProbe(host_speed::Probe& probe) {
  const std::int64_t begin = ThreadCpuNs();
  const std::uint64_t result = probe.Run();
  asm volatile("" : : "r"(result) : "memory");
  return static_cast<std::uint64_t>(ThreadCpuNs() - begin) * 1000;
}

// The speed of this core and that of the target, both relative to the reference processor; or,
// where the job says how much faster than this machine the target is, relative to this machine.
double CoreSpeedNow() { return source.speed_ratio > 0 ? 1.0 : core_speed->now(); }
double TargetSpeed() { return source.speed_ratio > 0 ? source.speed_ratio : source.target_speed; }

// Until a sample of the core's speed is due.
std::uint64_t SpeedIntervalTicks() {
  return core_speed->IsNew() ? speed_interval_ticks / kFirstSpeedsPart : speed_interval_ticks;
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

// Whether work of threads is timed: all of it, or what is far beyond what is counted.
bool TimesWork() { return source.model == ring::HostModel::kMeasured || source.costs.frame_ps > 0; }

std::uint64_t TicksToPs(std::uint64_t ticks) {
  return static_cast<std::uint64_t>(static_cast<double>(ticks) * ps_per_tick);
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
// And Python functions: loops over the parameters of a large model call tens of thousands.
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
  if (!pinned_memory_is_shared.load(std::memory_order_relaxed)) return false;
  return call_class == ring::CallClass::kEventQuery ||
         (follows && call_class == ring::CallClass::kQuery);
}

void CalibrateTicks() {
  ps_per_tick = MeasurePsPerTick(kCalibrationNs, MonotonicNs, ReadTicks);
  short_gap_ticks = static_cast<std::uint64_t>(kShortGapNs * 1000 / ps_per_tick);
  speed_interval_ticks = static_cast<std::uint64_t>(kSpeedIntervalPs / ps_per_tick);
}

// Brings the thread's CPU time up to date. Picoseconds of it since the last reading that are not
// accounted for, of which `ticks` have passed: the rest the thread was off its core.
std::uint64_t TakeCpuTime(ThreadClock& clock, std::uint64_t ticks) {
  const std::int64_t cpu_ns = ThreadCpuNs();
  const auto used_ps = static_cast<std::uint64_t>(cpu_ns - clock.cpu_ns) * 1000;
  clock.cpu_ns = cpu_ns;
  const std::uint64_t accounted = std::exchange(clock.accounted_ps, 0);
  const std::uint64_t own_ps = used_ps > accounted ? used_ps - accounted : 0;
  if (TicksToPs(ticks) > own_ps + kSwitchPs) clock.since_switch_ps = 0;
  return own_ps;
}

// CPU picoseconds of the calling thread since its last call or clock read.
std::uint64_t TakeOwnWork(ThreadClock& clock, std::uint64_t ticks) {
  const std::uint64_t gap = ticks - clock.last_ticks;
  if (gap < short_gap_ticks) {
    const std::uint64_t ps = TicksToPs(gap);
    clock.accounted_ps += ps;
    return ps;
  }
  return std::min(TakeCpuTime(clock, gap), TicksToPs(gap));
}

// What page faults took of a long stretch of the calling thread that ends now; those of the short
// ones before it are among them. At most half of it, whatever a fault costs in the mean.
std::uint64_t TakePageFaults(ThreadClock& clock, std::uint64_t work_ps) {
  if (work_ps < kCountedFaultsPs) return 0;
  const std::uint64_t faults = ThreadPageFaults();
  const std::uint64_t met = faults - std::exchange(clock.page_faults, faults);
  return std::min(met * page_fault_ps, work_ps / 2);
}

void BeginToTime(ThreadClock& clock, std::uint64_t ticks) {
  clock.cpu_ns = ThreadCpuNs();
  clock.own_ps = ProcessClock().load(std::memory_order_relaxed);
  clock.last_ticks = ticks;
  clock.next_speed_ticks = ticks + SpeedIntervalTicks();
  clock.page_faults = ThreadPageFaults();
  clock.work = MakeHostWork();
}

// What `work_ps` of the calling thread, which makes `call` now, costs on the target.
std::uint64_t CostOfWork(const ThreadClock& clock, std::uint64_t work_ps, std::uint64_t fault_ps,
                         std::uint64_t call) {
  const double speed = CoreSpeedNow();
  const host_time::HostWork::Stretch stretch{
      .work_ps = work_ps, .fault_ps = fault_ps, .since_switch_ps = clock.since_switch_ps};
  const double cost = clock.work == nullptr
                          ? static_cast<double>(work_ps) * speed
                          : static_cast<double>(clock.work->Before(call, stretch, speed));
  return static_cast<std::uint64_t>(cost / TargetSpeed());
}

// Brings the measured clock of the calling thread up to `ticks`, where it makes `call`.
void Measure(ThreadClock& clock, std::uint64_t ticks, std::uint64_t call) {
  if (clock.last_ticks == 0) return BeginToTime(clock, ticks);
  const std::uint64_t work = TakeOwnWork(clock, ticks);
  const std::uint64_t fault_ps = TakePageFaults(clock, work);
  clock.own_ps += WithDelays(CostOfWork(clock, work, fault_ps, call));
  clock.since_switch_ps += work;
  clock.last_ticks = ticks;
  RaiseTo(ProcessClock(), clock.own_ps);
  Publish(clock.own_ps);
}

// Times how fast the core is, if that is due. What it takes is nobody's work.
void SampleSpeed(ThreadClock& clock, std::uint64_t ticks) {
  if (ticks < clock.next_speed_ticks) return;
  core_speed->Sample();
  clock.next_speed_ticks = ReadTicks() + SpeedIntervalTicks();
  clock.slept = true;
}

// In the counted model: what the calling thread computed before `call`, where that is too long for
// its operators and functions to be all of it (numbers drawn on the host, a library's arithmetic,
// compilation), with what these stand for. Shorter work is left to them, so that a prediction does
// not depend on the machine that computes it.
std::uint64_t WorkBeyondCounted(ThreadClock& clock, std::uint64_t call) {
  const std::uint64_t ticks = ReadTicks();
  if (clock.last_ticks == 0) {
    BeginToTime(clock, ticks);
    return 0;
  }
  const std::uint64_t work = TakeOwnWork(clock, ticks);
  clock.since_switch_ps += work;
  clock.last_ticks = ticks;
  if (work < kBeyondCountedPs || clock.work == nullptr) {
    if (clock.work != nullptr) clock.work->NoteShort(call);
    return 0;
  }
  // Whether an allocator takes memory from the kernel anew differs from run to run and ends as a
  // program goes on.
  const std::uint64_t without_faults = work - TakePageFaults(clock, work);
  SampleSpeed(clock, ticks);
  if (!clock.work->IsRare(call)) return CostOfWork(clock, without_faults, 0, call);
  const double at_full_speed = static_cast<double>(without_faults) * CoreSpeedNow();
  return at_full_speed < kInterruptionPs
             ? 0
             : static_cast<std::uint64_t>(at_full_speed / TargetSpeed());
}

// The work before a call, and between readings of the clock, where it is not measured.
std::uint64_t WorkBefore(const char* name, ring::CallClass call_class) {
  const std::uint64_t counted = FrameworkWork(name, call_class);
  if (!TimesWork()) return counted;
  ThreadClock& own = thread_clock;
  own.call = CallNumber(name);
  own.call_detail = 0;
  const std::uint64_t work = WorkBeyondCounted(own, own.call);
  return work > kBeyondCountedTimes * counted + kBeyondCountedPs ? work : counted;
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
    CalibrateTicks();
    page_fault_ps = MeasurePageFaultPs();
    if (where.shared_costs != nullptr) {
      alignas(host_time::SharedCosts) static std::byte rows[sizeof(host_time::SharedCosts)];
      shared_costs = new (rows) host_time::SharedCosts(where.shared_costs);
    }
    alignas(host_time::CoreSpeed) static std::byte storage[sizeof(host_time::CoreSpeed)];
    core_speed = new (storage) host_time::CoreSpeed(TimeProbe);
    core_speed->Sample();
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
  if (source.model == ring::HostModel::kFixed) {
    if (source.costs.frame_ps > 0) CountFrames();
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
    pinned_memory_is_shared.store(true, std::memory_order_relaxed);
  }
}

void NoteCallDetail(std::uint64_t detail) noexcept { thread_clock.call_detail = detail; }

void NoteFruitlessEventQuery() noexcept { after_fruitless_query = true; }

void EndCall() noexcept {
  if (!TimesWork()) return;
  if (!started.load(std::memory_order_relaxed)) return;
  ThreadClock& own = thread_clock;
  if (own.last_ticks == 0) return;
  const std::uint64_t ticks = ReadTicks();
  // Ticks of a long call may hold a pause by the operating system, which must not count as CPU time
  // spent in the shim: it would be taken from the program's own.
  if (own.slept || ticks - own.last_ticks >= short_gap_ticks) {
    own.slept = false;
    TakeCpuTime(own, ticks - own.last_ticks);
  } else {
    own.accounted_ps += TicksToPs(ticks - own.last_ticks);
  }
  own.last_ticks = ticks;
  if (own.work != nullptr) own.work->After(own.call, own.call_detail);
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
  if (source.model == ring::HostModel::kFixed && ComputesForLong()) {
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
  const std::uint64_t gap = ReadTicks() - own.last_ticks;
  const auto detour = static_cast<std::uint64_t>(kTrapNs * 1000 / ps_per_tick);
  const std::uint64_t left_out = std::min(gap, detour);
  own.last_ticks += left_out;
  own.accounted_ps += TicksToPs(left_out);
}

void NoteWaited() noexcept {
  thread_clock.own_ps =
      std::max(thread_clock.own_ps, ProcessClock().load(std::memory_order_acquire));
}

void NoteSleptInShim() noexcept { thread_clock.slept = true; }

}  // namespace eidolon::shim::core
