#include "shim/time/virtual_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>

#include "services/ring/layout.h"
#include "services/ring/record.h"
#include "shim/core/rank_clock.h"
#include "shim/core/server_page.h"
#include "shim/core/session.h"
#include "shim/core/thread_role.h"
#include "shim/time/driver_rest.h"
#include "shim/time/real.h"

namespace eidolon::shim::time {
namespace {

using base::Duration;
using base::SimTime;

// Monotonic clocks of a machine that has been up for a day.
constexpr std::int64_t kMonotonicOriginNs = 86'400'000'000'000;
// Readings above this are wall clock: 20 years.
constexpr std::int64_t kWallThresholdNs = 631'152'000'000'000'000;
// A process without a GPU sleeps for real: others time it by alarms, pipes and exit statuses, which
// no clock of ours moves ("timeout 1 sleep 60" must end by the timeout). Only what is longer than
// this is cut short. A rank that starts up sleeps less: it may only be waiting for others that do.
constexpr std::int64_t kLongestRealSleepNs = 5'000'000'000;
constexpr std::int64_t kLongestStartUpSleepNs = 1'000'000'000;
// So many clock reads in a row without any other call are a polling loop; from then on each read
// moves the clock, or the loop would never end.
constexpr int kPollingReads = 2000;
constexpr Duration kPollingStep = Duration::Microseconds(1);
// So many waits between two of them are taken for the machine's: the interpreter's lock is waited
// for in turns of 5 ms, a minute in all, and every turn reads the clock.
constexpr int kYields = 12'000;
// What start-up lasts in the fixed host model, or the next multiple if its sleeps were longer.
// Ranks that look for each other sleep in it as often as the simulating machine makes them, and
// from its end on the program's clocks must be the same in every run.
constexpr Duration kFixedStartUp = Duration::Milliseconds(10'000);
// After a wait that expired, clocks show a time later than the deadline, as they do on a real
// machine: programs compare with "later", not with "at".
constexpr Duration kInstant = Duration::Nanoseconds(1);

// A clock that follows `target` but advances no faster than real time.
class LimitedClock {
 public:
  SimTime Read(SimTime target) noexcept {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
    const std::int64_t real = real::MonotonicNs();
    if (last_real_ns_ == 0) {
      value_ = target;
    } else if (target > value_) {
      value_ = std::min(target, value_ + Duration::Nanoseconds(real - last_real_ns_));
    }
    last_real_ns_ = real;
    const SimTime value = value_;
    busy_.clear(std::memory_order_release);
    return value;
  }

 private:
  std::atomic_flag busy_;
  std::int64_t last_real_ns_ = 0;
  SimTime value_;
};

constinit LimitedClock watchdog_clock;
constinit LimitedClock gpu_free_clock;
constinit std::atomic<std::int64_t> own_ps{0};  // Own sleeps of a process without a session.
// What the program's clocks show besides the rank clock; stays as it is once work has begun.
constinit std::atomic<std::int64_t> start_up_ps{0};
constinit std::atomic<bool> handed_over{false};
// How far the calling thread's looks in vain have brought it, although the clock, which it may not
// move, stands still. Sleeps count only while the process rests: unnamed threads that guard a
// timeout would else see it pass in real time.
[[gnu::tls_model("initial-exec")]] constinit thread_local SimTime lived_through;

void LiveThrough(SimTime time) noexcept { lived_through = std::max(lived_through, time); }

void Raise(std::atomic<std::int64_t>& value, std::int64_t at_least) noexcept {
  std::int64_t seen = value.load();
  while (seen < at_least && !value.compare_exchange_weak(seen, at_least)) {
  }
}

bool IsFixed() noexcept {
  const ring::ServerPage* page = core::MappedServerPage();
  return page == nullptr || page->host_model == ring::HostModel::kFixed;
}

Duration StartUp() noexcept {
  const std::int64_t slept_ps = start_up_ps.load(std::memory_order_relaxed);
  if (!core::HasBegun() || !IsFixed()) return {slept_ps};
  return kFixedStartUp * (slept_ps / kFixedStartUp.ps + 1);
}

// The program's clocks of a process with a session.
SimTime ProgramNow() noexcept { return core::Now() + StartUp(); }

// Moves the program's clocks to `time`: by the rank clock, if that runs already.
void MoveProgramTo(SimTime time) noexcept {
  if (core::HasBegun()) {
    core::AdvanceTo(time - StartUp());
  } else {
    Raise(start_up_ps, (time - core::Now()).ps);
  }
}

bool IsFutureRank() noexcept {
  static const bool value = getenv("RANK") != nullptr;
  return value;
}

SimTime WithoutSession() noexcept {
  const ring::ServerPage* page = core::MappedServerPage();
  SimTime now{own_ps.load()};
  if (IsFutureRank()) {
    if (IsFixed()) return now;
    timespec used{};
    real::ClockGettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return now + Duration::Nanoseconds(used.tv_sec * 1'000'000'000 + used.tv_nsec);
  }
  if (page == nullptr) return now;
  const SimTime job{static_cast<std::int64_t>(page->job_clock_ps.load(std::memory_order_relaxed))};
  return std::max(now, gpu_free_clock.Read(job));
}

// The session of this process, with the program's clocks continued from before it. A rank's own
// clock begins with the job; that of a later process (a worker, a compiler) with where the job is,
// which in the fixed model the agent has said (SegmentHeader::start_clock_ps).
core::Session* ContinuedSession() noexcept {
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return nullptr;
  if (!handed_over.load(std::memory_order_relaxed) && !handed_over.exchange(true)) {
    const SimTime shown = WithoutSession();
    if (!IsFutureRank() && !IsFixed()) {
      const SimTime job{static_cast<std::int64_t>(core::MappedServerPage()->job_clock_ps.load())};
      core::AdvanceTo(std::min(shown, job));
    }
    Raise(start_up_ps, (shown - core::Now()).ps);
  }
  return session;
}

// How often the calling thread has read the clock, and waited, while it stood still.
struct Standstill {
  SimTime at;
  int reads = 0;
  int yields = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Standstill standstill;

// True when the calling thread reads the clock again and again while it stands still.
bool IsPolling(SimTime now) noexcept {
  Standstill& still = standstill;
  if (now > still.at + kPollingStep) still = {};
  still.at = now;
  return ++still.reads > kPollingReads;
}

int RealSleep(std::int64_t ns, Duration* left) noexcept {
  std::int64_t left_ns = 0;
  const int result = real::Sleep(ns, &left_ns);
  *left = Duration::Nanoseconds(left_ns);
  return result;
}

// A helper thread wakes when the process has reached the end, or when so much real time has passed.
int HelperSleep(SimTime end, std::int64_t ns, Duration* left) noexcept {
  constexpr std::int64_t kSliceNs = 5'000'000;
  const DriverRest rest;
  while (ns > 0 && ProgramNow() < end) {
    const int result = RealSleep(std::min(ns, kSliceNs), left);
    if (result != 0) return result;
    ns -= kSliceNs;
  }
  if (ProgramNow() < end && rest.Lasts()) LiveThrough(end);
  return 0;
}

bool HasChildren() noexcept {
  siginfo_t unused{};
  const int saved = errno;
  const bool some = waitid(P_ALL, 0, &unused, WEXITED | WNOHANG | WNOWAIT) == 0;
  errno = saved;
  return some;
}

int DriverSleep(core::Session& session, SimTime end, std::int64_t ns) noexcept {
  // A driver that sleeps between two looks at a child (a compiler, a worker that shall end) must
  // give it real time, or the deadline passes before the child could do anything.
  constexpr std::int64_t kChildrensShareNs = 20'000'000;
  Duration left;
  if (HasChildren()) RealSleep(std::min(ns, kChildrensShareNs), &left);
  ring::WaitRecord question{};
  question.header.kind = ring::RecordKind::kWaitUntil;
  const SimTime rank_end = end - StartUp();
  question.id = static_cast<std::uint64_t>(rank_end.ps);
  core::Ask(session, question, /*advance_clock=*/false);
  core::AdvanceTo(rank_end);
  return 0;
}

// A sleep before the simulated time of this process begins.
int StartUpSleep(std::int64_t ns, Duration* left) noexcept {
  const bool waits_for_ranks = IsFutureRank();
  return RealSleep(std::min(ns, waits_for_ranks ? kLongestStartUpSleepNs : kLongestRealSleepNs),
                   left);
}

}  // namespace

bool InJob() noexcept {
  static const bool value = getenv("EIDOLON_RUN_DIR") != nullptr;
  return value;
}

SimTime ThreadNow() noexcept {
  if (ContinuedSession() == nullptr) return WithoutSession();
  switch (core::CurrentRole()) {
    case core::ThreadRole::kWatchdog:
      return watchdog_clock.Read(ProgramNow());
    case core::ThreadRole::kDriver:
    case core::ThreadRole::kHelper:
      return ProgramNow();
  }
  return ProgramNow();
}

SimTime OwnNow() noexcept { return std::max(ThreadNow(), lived_through); }

SimTime ReadByProgram() noexcept {
  const SimTime now = OwnNow();
  const bool has_session = core::Session::Existing() != nullptr;
  if (has_session && core::CurrentRole() == core::ThreadRole::kWatchdog) return now;
  if (!IsPolling(now)) return now;
  const SimTime moved = now + kPollingStep;
  if (!has_session) {
    Raise(own_ps, moved.ps);
  } else if (core::CurrentRole() == core::ThreadRole::kDriver) {
    MoveProgramTo(moved);
  } else {
    LiveThrough(moved);
  }
  return moved;
}

bool MayMoveFixedClock() noexcept {
  return ContinuedSession() != nullptr && core::HasBegun() && IsFixed() &&
         core::CurrentRole() == core::ThreadRole::kDriver;
}

void NoteYield() noexcept {
  if (++standstill.yields <= kYields && standstill.reads > 0) --standstill.reads;
}

bool IsVirtual(clockid_t id) noexcept {
  switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
      return InJob();
    case CLOCK_PROCESS_CPUTIME_ID:
      return InJob() && core::Session::Existing() != nullptr;
    default:
      return false;
  }
}

std::int64_t ReadingNs(clockid_t id, SimTime now) noexcept {
  const std::int64_t ns = now.ps / 1000;
  switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI: {
      const ring::ServerPage* page = core::MappedServerPage();
      return (page == nullptr ? kWallThresholdNs : page->epoch_unix_ns) + ns;
    }
    case CLOCK_PROCESS_CPUTIME_ID:
      return ns;
    default:
      return kMonotonicOriginNs + ns;
  }
}

SimTime TimeOfReading(clockid_t id, std::int64_t reading_ns) noexcept {
  const std::int64_t ns = reading_ns - ReadingNs(id, SimTime{0});
  // Programs wait "for ever" with the largest timespec; stay far from overflow.
  constexpr std::int64_t kLatestNs = std::int64_t{1} << 52;
  return SimTime{std::clamp<std::int64_t>(ns, 0, kLatestNs) * 1000};
}

clockid_t GuessClock(std::int64_t reading_ns) noexcept {
  return reading_ns >= kWallThresholdNs ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

int SleepFor(Duration duration, Duration* left) noexcept {
  *left = {};
  const std::int64_t ns = duration.ps / 1000;
  const SimTime end = OwnNow() + duration;
  core::Session* session = ContinuedSession();
  if (session == nullptr) {
    const int result = StartUpSleep(ns, left);
    if (result == 0) Raise(own_ps, end.ps);
    return result;
  }
  switch (core::CurrentRole()) {
    case core::ThreadRole::kWatchdog:
      return RealSleep(ns, left);
    case core::ThreadRole::kHelper:
      return HelperSleep(end, ns, left);
    case core::ThreadRole::kDriver: {
      if (core::HasBegun()) return DriverSleep(*session, end, ns);
      const int result = StartUpSleep(ns, left);
      if (result == 0) MoveProgramTo(end);
      return result;
    }
  }
  return 0;
}

void WaitExpired(SimTime target) noexcept {
  const SimTime after = target + kInstant;
  core::Session* session = ContinuedSession();
  if (session == nullptr) {
    Raise(own_ps, after.ps);
    return;
  }
  if (core::CurrentRole() == core::ThreadRole::kDriver) MoveProgramTo(after);
}

void LookedInVain() noexcept { LiveThrough(OwnNow() + kInstant); }

}  // namespace eidolon::shim::time
