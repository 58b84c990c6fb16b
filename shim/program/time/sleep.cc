// A sleep must last as long as the program asked for on its own clocks, and as short as possible in
// real time. Who sleeps decides how. A driver's sleep is a wait in the agent, which orders it among
// all ranks by virtual time. A helper never moves the clock, so it looks now and then whether the
// drivers have, and moves its own view alone when they rest. A process without a session has no
// clock, so the agent follows its length (VirtualSleep). Before work has begun there is no virtual
// time that runs, and sleeps are real but cut short.
//
// Real time is still given where others need it: children of a sleeping driver get a share, and
// timers that are due before the end of a sleep are let expire on the way, because their signals
// interrupt it.
#include "shim/program/time/sleep.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>

#include "services/contract/ring/record.h"
#include "shim/core/driver_rest.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/program/time/real.h"
#include "shim/program/time/virtual_clock.h"
#include "shim/program/time/virtual_sleep.h"
#include "shim/program/time/virtual_timers.h"

namespace eidolon::shim::time {
namespace {

using base::Duration;
using base::SimTime;

// Launchers, and ranks that start up, sleep for real: others time them by pipes and exit statuses,
// which no clock of ours moves. Only what is longer than this is cut short. A rank that starts up
// sleeps less: it may only be waiting for others that do.
constexpr std::int64_t kLongestRealSleepNs = 5'000'000'000;
constexpr std::int64_t kLongestStartUpSleepNs = 1'000'000'000;
// Processes that a rank has started sleep in virtual time from this length on.
constexpr std::int64_t kShortestVirtualSleepNs = 1'000'000'000;
// Before a virtual sleep ends for want of anything else to happen, others get this much real time
// to say what they wait for: who started the sleep may have set a timer.
constexpr std::int64_t kVirtualSleepPatienceNs = 500'000'000;

constinit std::atomic<int> sleeping_drivers{0};

class CountedDriver {
 public:
  CountedDriver() noexcept { sleeping_drivers.fetch_add(1); }
  ~CountedDriver() { sleeping_drivers.fetch_sub(1); }
  CountedDriver(const CountedDriver&) = delete;
  CountedDriver& operator=(const CountedDriver&) = delete;
};

int RealSleep(std::int64_t ns, std::int64_t* slept_ns) noexcept {
  const std::int64_t begin = real::MonotonicNs();
  std::int64_t left_ns = 0;
  const int result = real::Sleep(ns, &left_ns);
  *slept_ns = std::clamp<std::int64_t>(real::MonotonicNs() - begin, 0, ns);
  return result;
}

// A helper thread wakes when the process has reached the end, or when so much real time has passed.
// It looks after a half more of the time each time: every look takes a processor from the ranks.
int HelperSleep(SimTime end, std::int64_t ns, std::int64_t* slept_ns) noexcept {
  constexpr std::int64_t kShortestSliceNs = 5'000'000;
  constexpr std::int64_t kLongestSliceNs = 100'000'000;
  const SimTime begin = ProgramTime();
  const core::DriverRest rest;
  std::int64_t waited_ns = 0;
  while (waited_ns < ns && ProgramTime() < end) {
    const std::int64_t slice = std::clamp(waited_ns / 2, kShortestSliceNs, kLongestSliceNs);
    std::int64_t unused = 0;
    if (RealSleep(std::min(ns - waited_ns, slice), &unused) != 0) {
      *slept_ns = (ProgramTime() - begin).ps / 1000;
      return EINTR;
    }
    waited_ns += slice;
  }
  if (ProgramTime() < end && rest.Lasts()) LiveThrough(end);
  return 0;
}

bool HasChildren() noexcept {
  siginfo_t unused{};
  const int saved = errno;
  const bool some = waitid(P_ALL, 0, &unused, WEXITED | WNOHANG | WNOWAIT) == 0;
  errno = saved;
  return some;
}

// Lets due timers expire; true when the calling thread has handled a signal of theirs. Signals are
// held back until it waits for them, or it could not tell.
bool IsWokenByTimers() noexcept {
  constexpr std::int64_t kSignalsShareNs = 2'000'000;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool alarmed = FireDueTimers();
  const timespec share = ToTimespec(kSignalsShareNs);
  const long result = core::RawSyscall(SYS_ppoll, 0, 0, reinterpret_cast<long>(&share),
                                       reinterpret_cast<long>(&before), /*bytes of a mask=*/8);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (result == -EINTR) return true;
  // Another thread may have taken it while this one held it back: it was meant for the sleeper.
  struct sigaction action {};
  const bool is_handled = sigaction(SIGALRM, nullptr, &action) == 0 &&
                          action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL;
  return alarmed && is_handled && sigismember(&before, SIGALRM) == 0;
}

void AskUntil(core::Session& session, SimTime moment) noexcept {
  ring::WaitRecord question{};
  question.header.kind = ring::RecordKind::kWaitUntil;
  question.id = static_cast<std::uint64_t>(moment.ps);
  core::Ask(session, question, /*advance_clock=*/false);
  core::AdvanceTo(moment);
}

int DriverSleep(core::Session& session, SimTime end, std::int64_t ns,
                std::int64_t* slept_ns) noexcept {
  // A driver that sleeps between two looks at a child (a compiler, a worker that shall end) must
  // give it real time, or the deadline passes before the child could do anything.
  constexpr std::int64_t kChildrensShareNs = 20'000'000;
  const SimTime begin = ProgramTime();
  std::int64_t unused = 0;
  if (HasChildren()) RealSleep(std::min(ns, kChildrensShareNs), &unused);
  const CountedDriver counted;
  while (true) {
    const auto timer = NextDriverTimer();
    if (!timer || timer->deadline > end) break;
    AskUntil(session, RankTime(std::max(timer->deadline, ProgramTime())));
    if (IsWokenByTimers() && ProgramTime() < end) {
      *slept_ns = (ProgramTime() - begin).ps / 1000;
      return EINTR;
    }
    if (ProgramTime() >= end) return 0;
  }
  AskUntil(session, RankTime(end));
  return 0;
}

// Each rank has a picosecond of its own in it, so that no two ranks wait for the same moment.
constexpr std::int64_t kRankOrderPs = 1'000'000;

// Programs that start their ranks themselves may not name them; the agent numbers these.
std::int64_t RankNumber(const core::Session& session) noexcept {
  const char* text = std::getenv("RANK");
  const std::int64_t named = text == nullptr ? -1 : std::strtoll(text, nullptr, 10);
  return named >= 0 ? named : session.header().process;
}

// A sleep before the simulated time of this process begins, or outside of it.
int ShortSleep(std::int64_t ns, std::int64_t* slept_ns) noexcept {
  return RealSleep(std::min(ns, IsFutureRank() ? kLongestStartUpSleepNs : kLongestRealSleepNs),
                   slept_ns);
}

// Sleeps in a process that follows received times: until the job has reached the end of the sleep.
// A short sleep also lasts its length in real time, because it may be a pause between two looks at
// something real.
int SleepUntilJobReaches(SimTime end, std::int64_t ns, std::int64_t* slept_ns) noexcept {
  constexpr std::int64_t kLookNs = 5'000'000;
  const std::int64_t begin = real::MonotonicNs();
  const std::int64_t real_ns = ns < kShortestVirtualSleepNs ? ns : 0;
  if (const int result = RealSleep(real_ns, slept_ns); result != 0) return result;
  VirtualSleep virtual_sleep;
  virtual_sleep.Begin(RankTimeOfReceived(end), real_ns > 0 ? 0 : kVirtualSleepPatienceNs);
  while (!JobHasReached(end)) {
    bool interrupted = false;
    if (virtual_sleep.Wait(kLookNs, &interrupted) != VirtualSleep::State::kWaiting) break;
    if (!interrupted) continue;
    // A short sleep may have lasted longer than it was to last.
    *slept_ns = std::min(real::MonotonicNs() - begin, ns);
    return EINTR;
  }
  return 0;
}

// What a rank has started sleeps until the job's time has passed by as much, or so much real time.
int SleepWithoutSession(std::int64_t ns, std::int64_t* slept_ns) noexcept {
  if (ns < kShortestVirtualSleepNs) return ShortSleep(ns, slept_ns);
  const std::int64_t begin = real::MonotonicNs();
  VirtualSleep virtual_sleep;
  virtual_sleep.BeginLength(Duration::Nanoseconds(ns), kVirtualSleepPatienceNs);
  while (virtual_sleep.state() == VirtualSleep::State::kWaiting) {
    const std::int64_t elapsed = real::MonotonicNs() - begin;
    if (elapsed >= ns) return 0;
    bool interrupted = false;
    virtual_sleep.Wait(ns - elapsed, &interrupted);
    if (!interrupted) continue;
    *slept_ns = real::MonotonicNs() - begin;
    return EINTR;
  }
  return virtual_sleep.state() == VirtualSleep::State::kPassed ? 0 : ShortSleep(ns, slept_ns);
}

// Only a signal ends it.
int SleepBeyondEnd(std::int64_t* slept_ns) noexcept {
  static std::atomic<bool> told{false};
  if (IsDriving() && !told.exchange(true)) {
    core::WriteToStderr(
        "eidolon: a rank sleeps beyond the end of virtual time (53 days): this sleep lasts as long "
        "as the job does\n");
  }
  constexpr std::int64_t kYearNs = std::int64_t{365} * 86'400 * 1'000'000'000;
  *slept_ns = 0;
  while (true) {
    std::int64_t slept = 0;
    const int result = RealSleep(kYearNs, &slept);
    *slept_ns += slept;
    if (result != 0) return result;
  }
}

}  // namespace

bool DriverSleeps() noexcept { return sleeping_drivers.load() > 0; }

void WaitInRankOrder() noexcept {
  core::Session* session = core::Session::Existing();
  if (session == nullptr || !IsDriving()) return;
  const SimTime moment{(core::Now().ps / kRankOrderPs + 1) * kRankOrderPs +
                       RankNumber(*session) % kRankOrderPs};
  if (!IsBeyondEnd(moment)) AskUntil(*session, moment);
}

int SleepFor(std::int64_t ns, std::int64_t* slept_ns) noexcept {
  *slept_ns = 0;
  const SimTime end = TimeAfter(OwnNow(), ns);
  if (IsBeyondEnd(end)) return SleepBeyondEnd(slept_ns);
  if (FollowsReceivedTime()) {
    const int result = SleepUntilJobReaches(end, ns, slept_ns);
    if (result == 0) SleptThrough(end);
    return result;
  }
  core::Session* session = core::Session::Existing();
  if (session == nullptr) {
    const int result = SleepWithoutSession(ns, slept_ns);
    if (result == 0) SleptThrough(end);
    return result;
  }
  switch (core::CurrentRole()) {
    case core::ThreadRole::kWatchdog:
      return RealSleep(ns, slept_ns);
    case core::ThreadRole::kHelper:
      return HelperSleep(end, ns, slept_ns);
    case core::ThreadRole::kDriver: {
      if (HasBegun()) return DriverSleep(*session, end, ns, slept_ns);
      const int result = ShortSleep(ns, slept_ns);
      if (result == 0) SleptThrough(end);
      return result;
    }
  }
  return 0;
}

}  // namespace eidolon::shim::time
