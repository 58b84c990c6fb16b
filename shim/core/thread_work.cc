// A thread's own work is its processor time outside of the shim. Reading that time is a system
// call, too dear for each call of the program, so gaps below 20 us are taken from the tick counter
// and only longer ones, which may hold a pause by the operating system, from the thread's CPU
// clock. `accounted_ps` makes both agree: it sums what was already counted or was spent in the shim
// since the CPU clock was last read, and is subtracted at the next reading. All results are
// picoseconds.
//
// The speed of the core is timed again at a thread's first call after 50 ms, because clock rates
// and neighbours on the machine change. What that takes is left out, as a sleep in the shim is.
#include "shim/core/thread_work.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "shim/core/page_fault_cost.h"
#include "shim/core/system.h"
#include "shim/core/tick_rate.h"
#include "shim/program/host_time/core_speed.h"
#include "shim/program/host_time/shared_costs.h"

namespace eidolon::shim::core {

[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadClock thread_clock{};

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
// A thread measures the speed of its core this often: 0.25 ms of work each time.
constexpr std::uint64_t kSpeedIntervalPs = 50'000'000'000;
// The first measurements come so many times as often.
constexpr std::uint64_t kFirstSpeedsPart = 5;
// Time of a trapped reading of the tick counter before our handler and after it.
constexpr std::uint64_t kTrapNs = 1'500;

constinit WorkTiming timing_used{};
constinit std::uint64_t speed_interval_ticks = 0;
constinit std::uint64_t page_fault_ps = 0;
constinit host_time::CoreSpeed* core_speed = nullptr;      // Made once, never destroyed.
constinit host_time::SharedCosts* shared_costs = nullptr;  // The same; null: this rank alone.

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

template <typename Work>
std::uint64_t TimeOf(Work work) {
  const std::int64_t begin = ThreadCpuNs();
  const std::uint64_t result = work();
  asm volatile("" : : "r"(result) : "memory");
  return static_cast<std::uint64_t>(ThreadCpuNs() - begin) * 1000;
}
std::uint64_t TimeProbe(host_speed::Probe& probe) {
  return TimeOf([&probe] { return probe.Run(); });
}
std::uint64_t TimeArithmetic() { return TimeOf(host_speed::RunArithmetic); }

// The speed of this core and that of the target, both relative to the reference processor; or,
// where the job says how much faster than this machine the target is, relative to this machine.
double CoreSpeedNow(CodeKind code) {
  if (timing_used.speed_ratio > 0) return 1.0;
  return code == CodeKind::kArithmetic ? core_speed->of_arithmetic() : core_speed->now();
}
double TargetSpeed() {
  return timing_used.speed_ratio > 0 ? timing_used.speed_ratio : timing_used.target_speed;
}

// Returns the ticks until a sample of the core's speed is due.
std::uint64_t SpeedIntervalTicks() {
  return core_speed->IsNew() ? speed_interval_ticks / kFirstSpeedsPart : speed_interval_ticks;
}

void CalibrateTicks() {
  const double ps_per_tick = MeasurePsPerTick(kCalibrationNs, MonotonicNs, ReadTicks);
  internal::tick_scale = {
      .ps_per_tick = ps_per_tick,
      .short_gap_ticks = static_cast<std::uint64_t>(kShortGapNs * 1000 / ps_per_tick)};
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

}  // namespace

namespace internal {

constinit TickScale tick_scale{};

std::uint64_t TakeLongGap(ThreadClock& clock, std::uint64_t gap) noexcept {
  return std::min(TakeCpuTime(clock, gap), TicksToPs(gap));
}

// Ticks of a long call may hold a pause by the operating system, which must not count as CPU time
// spent in the shim: it would be taken from the program's own.
void EndLongCall(ThreadClock& clock, std::uint64_t ticks) noexcept {
  clock.slept = false;
  TakeCpuTime(clock, ticks - clock.last_ticks);
}

}  // namespace internal

void StartToTimeWork(const WorkTiming& timing) noexcept {
  timing_used = timing;
  CalibrateTicks();
  page_fault_ps = MeasurePageFaultPs();
  if (timing.shared_costs != nullptr) {
    alignas(host_time::SharedCosts) static std::byte rows[sizeof(host_time::SharedCosts)];
    shared_costs = new (rows) host_time::SharedCosts(timing.shared_costs);
  }
  alignas(host_time::CoreSpeed) static std::byte storage[sizeof(host_time::CoreSpeed)];
  core_speed =
      new (storage) host_time::CoreSpeed({.probe = TimeProbe, .arithmetic = TimeArithmetic});
  core_speed->Sample();
}

void BeginToTime(ThreadClock& clock, std::uint64_t ticks, std::uint64_t now_ps) noexcept {
  clock.cpu_ns = ThreadCpuNs();
  clock.own_ps = now_ps;
  clock.last_ticks = ticks;
  clock.next_speed_ticks = ticks + SpeedIntervalTicks();
  clock.page_faults = ThreadPageFaults();
  clock.work = MakeHostWork();
}

std::uint64_t TakePageFaults(ThreadClock& clock, std::uint64_t work_ps) noexcept {
  if (work_ps < kCountedFaultsPs) return 0;
  const std::uint64_t faults = ThreadPageFaults();
  const std::uint64_t met = faults - std::exchange(clock.page_faults, faults);
  return std::min(met * page_fault_ps, work_ps / 2);
}

void LeaveOutTrap(ThreadClock& clock, std::uint64_t ticks) noexcept {
  const std::uint64_t detour = internal::tick_scale.short_gap_ticks * kTrapNs / kShortGapNs;
  const std::uint64_t left_out = std::min(ticks - clock.last_ticks, detour);
  clock.last_ticks += left_out;
  clock.accounted_ps += TicksToPs(left_out);
}

void SampleSpeed(ThreadClock& clock, std::uint64_t ticks) noexcept {
  if (ticks < clock.next_speed_ticks) return;
  core_speed->Sample();
  clock.next_speed_ticks = ReadTicks() + SpeedIntervalTicks();
  clock.slept = true;
}

double OnTarget(CodeKind code, std::uint64_t work_ps) noexcept {
  return static_cast<double>(work_ps) * CoreSpeedNow(code) / TargetSpeed();
}

std::uint64_t CostOfWork(const ThreadClock& clock, CodeKind code, std::uint64_t work_ps,
                         std::uint64_t fault_ps, std::uint64_t call) noexcept {
  const double speed = CoreSpeedNow(code);
  const host_time::HostWork::Stretch stretch{
      .work_ps = work_ps, .fault_ps = fault_ps, .since_switch_ps = clock.since_switch_ps};
  const double cost = clock.work == nullptr
                          ? static_cast<double>(work_ps) * speed
                          : static_cast<double>(clock.work->Before(call, stretch, speed));
  return static_cast<std::uint64_t>(cost / TargetSpeed());
}

}  // namespace eidolon::shim::core
