// A timed wait of a driver can end in two ways: an event arrives, which only the waiting thread
// sees, or virtual time reaches the deadline, which only the agent can decide. The waiting thread
// cannot block in the agent, so this thread does it in its place. It asks for the earliest of all
// moments only; each change raises the futex word `news`, and the thread looks again.
//
// The waits are in wait_slots.h. Times are nanoseconds of the real monotonic clock but for
// deadlines, which are of virtual time.
#include "shim/program/time/moment_keeper.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "services/contract/ring/server_page.h"
#include "shim/core/server_page.h"
#include "shim/core/session.h"
#include "shim/core/spin_lock.h"
#include "shim/core/system.h"
#include "shim/program/time/masked_lock.h"
#include "shim/program/time/real.h"
#include "shim/program/time/sleep.h"
#include "shim/program/time/virtual_clock.h"
#include "shim/program/time/virtual_sleep.h"
#include "shim/program/time/virtual_timers.h"
#include "shim/program/time/wait_slots.h"

namespace eidolon::shim::time {
namespace {

using base::SimTime;

constexpr std::int64_t kSliceNs = 10'000'000;
// What a wait waits for may come from outside the job (a file system, another machine), which no
// clock of ours shows: it gets this much real time.
constexpr std::int64_t kPatienceNs = 500'000'000;
// The agent refuses while no rank of its server has begun, which lasts only a moment longer.
constexpr std::int64_t kRefusedPauseNs = 500'000'000;

// As sleeps do: shorter ones are always real.
constexpr std::int64_t kShortestRealTimerNs = 1'000'000'000;

constinit WaitSlots waits{};
constinit std::atomic<std::uint32_t> news{0};  // Futex word on which the thread sleeps.
constinit std::atomic<bool> running{false};
constinit std::atomic<VirtualSleep*> threads_virtual_sleep{
    nullptr};  // Lives on the thread's stack, also in forks.
[[gnu::tls_model("initial-exec")]] constinit thread_local WaitSlots::Hold own{};

// The kernel's timer of a process without a clock. Guarded by `lock`.
struct RealTimer {
  TimerName name;
  std::int64_t ends_ns = 0;  // 0: none.
};
constinit core::SpinLock lock;
constinit RealTimer real_timer{};

std::optional<RealTimer> ArmedRealTimer() noexcept {
  const MaskedLock guard(lock);
  if (real_timer.ends_ns == 0 || real_timer.ends_ns < real::MonotonicNs()) return std::nullopt;
  return real_timer;
}

// Carries the kernel's timer as far as the job's time goes.
void FollowRealTimer(const RealTimer& timer) noexcept {
  VirtualSleep virtual_sleep;
  threads_virtual_sleep.store(&virtual_sleep);
  virtual_sleep.BeginLength(base::Duration::Nanoseconds(timer.ends_ns - real::MonotonicNs()),
                            kPatienceNs);
  const auto is_same = [&] {
    const auto now = ArmedRealTimer();
    return now && now->name == timer.name && now->ends_ns == timer.ends_ns;
  };
  while (is_same() && virtual_sleep.Wait(kSliceNs) == VirtualSleep::State::kWaiting) {
  }
  if (is_same() && virtual_sleep.state() == VirtualSleep::State::kPassed) ExpireAtOnce(timer.name);
  ForgetRealTimer(timer.name);
  threads_virtual_sleep.store(nullptr);
}

struct Moment {
  SimTime at;
  std::int64_t since_ns = 0;
};

std::optional<Moment> Earliest(std::int64_t now_ns) noexcept {
  std::optional<Moment> earliest;
  if (const auto timer = NextDriverTimer()) earliest = {timer->deadline, timer->since_ns};
  const auto wait = waits.Earliest(now_ns);
  if (wait && (!earliest || wait->deadline < earliest->at)) {
    earliest = {wait->deadline, wait->since_ns};
  }
  return earliest;
}

// Waits on behalf of a rank. Returns when there is nothing.
void FollowRank() noexcept {
  VirtualSleep virtual_sleep;
  threads_virtual_sleep.store(&virtual_sleep);
  SimTime told;
  std::int64_t refused_ns = -kRefusedPauseNs;
  while (true) {
    const std::uint32_t seen = news.load(std::memory_order_acquire);
    const std::int64_t now_ns = real::MonotonicNs();
    if (!DriverSleeps()) FireDueTimers();
    const std::optional<Moment> next = Earliest(now_ns);
    if (virtual_sleep.state() != VirtualSleep::State::kNone && (!next || next->at != told))
      virtual_sleep.End();
    if (!next && !HasTimers()) break;
    const bool may_ask = now_ns - refused_ns > kRefusedPauseNs;
    if (next && virtual_sleep.state() == VirtualSleep::State::kNone && may_ask &&
        ProgramTime() < next->at) {
      told = next->at;
      virtual_sleep.Begin(RankTime(told), next->since_ns + kPatienceNs - now_ns);
    }
    if (virtual_sleep.state() == VirtualSleep::State::kNone) core::FutexWait(&news, seen, kSliceNs);
    switch (virtual_sleep.Wait(kSliceNs)) {
      case VirtualSleep::State::kPassed:
        CarryTo(told);
        virtual_sleep.End();
        break;
      case VirtualSleep::State::kRefused:
        refused_ns = now_ns;
        virtual_sleep.End();
        break;
      default:
        break;
    }
  }
  threads_virtual_sleep.store(nullptr);
}

[[noreturn]] void* Run(void*) noexcept {
  while (true) {
    const std::uint32_t seen = news.load(std::memory_order_acquire);
    if (HasBegun()) FollowRank();
    if (const auto timer = ArmedRealTimer()) FollowRealTimer(*timer);
    core::FutexWait(&news, seen, -1);
  }
}

void ForgetInFork() noexcept {
  if (VirtualSleep* virtual_sleep = threads_virtual_sleep.exchange(nullptr))
    virtual_sleep->Forget();
  ForgetTimers();
  std::construct_at(&lock);  // Nobody else is left to hold it.
  real_timer = {};
  waits.Clear();
  own = {};
  running.store(false, std::memory_order_relaxed);
}

void StartThread() noexcept {
  if (running.load(std::memory_order_acquire) || running.exchange(true)) return;
  static const int registered = pthread_atfork(nullptr, nullptr, ForgetInFork);
  static_cast<void>(registered);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  // Without a thread, waits last as long as in real time.
  if (pthread_create(&thread, &attributes, Run, nullptr) == 0) {
    real::SetThreadName(thread, "eidolon_moments");
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void TellNews() noexcept {
  news.fetch_add(1, std::memory_order_release);
  core::FutexWake(&news, 1);
}

}  // namespace

void KeepWaiting(SimTime deadline) noexcept {
  if (!waits.Keep(own, deadline, real::MonotonicNs())) return;
  StartThread();
  TellNews();
}

void StopWaiting() noexcept {
  if (own.ticket == 0) return;
  waits.Stop(own, real::MonotonicNs());
  TellNews();
}

void KeepTimers() noexcept {
  StartThread();
  TellNews();
}

void KeepRealTimer(TimerName name, std::int64_t ns) noexcept {
  const ring::ServerPage* page = core::MappedServerPage();
  const bool runs = page != nullptr && page->job_clock_ps.load() != 0;
  if (ns < kShortestRealTimerNs || !runs || core::Session::Existing() != nullptr) return;
  if (IsBeyondEnd(TimeAfter({}, ns))) return;
  {
    const MaskedLock guard(lock);
    real_timer = {.name = name, .ends_ns = real::MonotonicNs() + ns};
  }
  KeepTimers();
}

void ForgetRealTimer(TimerName name) noexcept {
  const MaskedLock guard(lock);
  if (real_timer.name == name) real_timer.ends_ns = 0;
}

}  // namespace eidolon::shim::time
