// The program's clocks are the sum of the rank clock, which the simulation owns, and of the
// start-up, which only the program sees. `start_up_ps` may grow until work begins and is fixed from
// then on; then only the rank clock moves. Every value here only grows, whichever thread raises it
// (Raise, LimitedClock): a clock that went back would break programs more than one that is late. A
// thread that may not move the clock has `lived_through`, a view of its own that is ahead of it.
//
// A session takes over at one moment (`handed_over`): what the clocks showed before it must be read
// first, because the same functions read differently afterwards. A fork keeps the flag without a
// session, which is how it is told from a process that never had one.
#include "shim/program/time/virtual_clock.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "services/contract/ring/layout.h"
#include "services/contract/ring/virtual_sleep.h"
#include "shim/core/launcher.h"
#include "shim/core/rank_clock.h"
#include "shim/core/server_page.h"
#include "shim/core/session.h"
#include "shim/core/thread_role.h"
#include "shim/program/time/new_program.h"
#include "shim/program/time/real.h"

namespace eidolon::shim::time {
namespace {

using base::Duration;
using base::SimTime;
using eidolon::channel::Sender;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// Monotonic clocks of a machine that has been up for a day.
constexpr std::int64_t kMonotonicOriginNs = 86'400'000'000'000;
// Readings above this are wall clock: 20 years.
constexpr std::int64_t kWallThresholdNs = 631'152'000'000'000'000;
// So many clock reads in a row without any other call are a polling loop; from then on each read
// moves the clock, or the loop would never end. A loop gets there in some 10 ms. Dynamo and
// Inductor time each of their phases, 14,000 times for a model of six layers, one time more or less
// from run to run: that must not move the clock.
constexpr int kPollingReads = 100'000;
constexpr Duration kPollingStep = Duration::Microseconds(1);
// So many waits between two of them are taken for the machine's: the interpreter's lock is waited
// for in turns of 5 ms, a minute in all, and every turn reads the clock.
constexpr int kYields = 12'000;
// Length of start-up in the fixed host model, or the next multiple if its sleeps were longer. Ranks
// that look for each other sleep in it as often as the simulating machine makes them, and from its
// end on the program's clocks must be the same in every run.
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
constinit LimitedClock fork_clock;              // Begins where its parent is.
constinit std::atomic<std::int64_t> own_ps{0};  // Own sleeps of a process without a session.
// What the program's clocks show besides the rank clock; stays as it is once work has begun.
constinit std::atomic<std::int64_t> start_up_ps{0};
constinit std::atomic<bool> handed_over{false};
// In a process without a GPU: whether `own_ps` follows times that bytes carried, and the lead of
// these over the rank clocks. In a process with a session: the latest time that its threads have
// received.
constinit std::atomic<bool> follows_received{false};
constinit std::atomic<std::int64_t> received_start_up_ps{0};
constinit std::atomic<std::int64_t> received_ps{0};
// How far the calling thread's looks in vain have brought it, although the clock, which it may not
// move, stands still. Sleeps count only while the process rests: unnamed threads that guard a
// timeout would else see it pass in real time.
[[gnu::tls_model("initial-exec")]] constinit thread_local SimTime lived_through;

void Raise(std::atomic<std::int64_t>& value, std::int64_t at_least) noexcept {
  std::int64_t seen = value.load();
  while (seen < at_least && !value.compare_exchange_weak(seen, at_least)) {
  }
}

bool IsFixed() noexcept {
  const ring::ServerPage* page = core::MappedServerPage();
  return page == nullptr || ring::HasCosts(page->host_model);
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

SimTime WithoutSession() noexcept {
  const ring::ServerPage* page = core::MappedServerPage();
  SimTime now{own_ps.load()};
  if (handed_over.load(std::memory_order_relaxed)) {
    // A fork of a rank, or a rank that ends: it is where its parent was, or where the job is.
    return std::max(now, fork_clock.Read(core::Now())) + StartUp();
  }
  if (IsFutureRank()) {
    if (IsFixed()) return now;
    timespec used{};
    real::ClockGettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return now + Duration::Nanoseconds(used.tv_sec * 1'000'000'000 + used.tv_nsec);
  }
  if (page == nullptr || follows_received.load(std::memory_order_relaxed)) return now;
  const SimTime job{static_cast<std::int64_t>(page->job_clock_ps.load(std::memory_order_relaxed))};
  return std::max(now, gpu_free_clock.Read(job));
}

// The session of this process, with the program's clocks continued from before it. A rank's own
// clock begins with the job; that of a later process (a worker, a compiler) with where the job is,
// which in the fixed model the agent has said (SegmentHeader::start_clock_ps).
// The first thread that reads a clock while there is a session makes the transition.
core::Session* ContinuedSession() noexcept {
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return nullptr;
  if (handed_over.load(std::memory_order_relaxed)) return session;
  const SimTime shown = WithoutSession();  // Before it is handed over: a fork reads differently.
  if (!handed_over.exchange(true)) {
    if (!IsFutureRank() && !IsFixed()) {
      const SimTime job{static_cast<std::int64_t>(core::MappedServerPage()->job_clock_ps.load())};
      core::AdvanceTo(std::min(shown, job));
    }
    Raise(start_up_ps, (shown - core::Now()).ps);
  }
  return session;
}

// Raises the clock in a process without a session.
void RaiseOwn(SimTime shown) noexcept {
  const Duration before = handed_over.load(std::memory_order_relaxed) ? StartUp() : Duration{};
  Raise(own_ps, (shown - before).ps);
}

// Raises the clock of a process that has given its GPU no work, whichever thread asks.
void RaiseFollower(SimTime shown) noexcept {
  if (ContinuedSession() == nullptr) {
    RaiseOwn(shown);
  } else if (ProgramNow() < shown) {
    MoveProgramTo(shown);
  }
}

// Counts of clock reads and waits of the calling thread while the clock stood still.
struct Standstill {
  SimTime at;
  int reads = 0;
  int yields = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Standstill standstill;

[[gnu::tls_model("initial-exec")]] constinit thread_local std::int64_t last_wall_reading_ns = 0;

enum class Answer : int { kUnknown, kNo, kYes };
constinit std::atomic<Answer> is_future_rank{Answer::kUnknown};

// True when the calling thread reads the clock again and again while it stands still.
bool IsPolling(SimTime now) noexcept {
  Standstill& still = standstill;
  if (now > still.at + kPollingStep) still = {};
  still.at = now;
  return ++still.reads > kPollingReads;
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
    RaiseOwn(moved);
  } else if (core::CurrentRole() == core::ThreadRole::kDriver) {
    MoveProgramTo(moved);
  } else {
    LiveThrough(moved);
  }
  return moved;
}

bool IsBeyondEnd(SimTime time) noexcept { return time.ps > ring::kEndOfTimePs; }

SimTime TimeAfter(SimTime now, std::int64_t ns) noexcept {
  if (ns > ring::kEndOfTimePs / 1000) return SimTime::Max();
  const SimTime time = now + Duration::Nanoseconds(ns);
  return IsBeyondEnd(time) ? SimTime::Max() : time;
}

SimTime ProgramTime() noexcept {
  return ContinuedSession() == nullptr ? WithoutSession() : ProgramNow();
}

SimTime RankTime(SimTime program_time) noexcept { return program_time - StartUp(); }

void CarryTo(SimTime time) noexcept {
  if (ContinuedSession() != nullptr) MoveProgramTo(time);
}

bool HasBegun() noexcept { return ContinuedSession() != nullptr && core::HasBegun(); }

bool IsDriving() noexcept { return HasBegun() && core::CurrentRole() == core::ThreadRole::kDriver; }

bool IsFutureRank() noexcept {
  Answer answer = is_future_rank.load(std::memory_order_relaxed);
  if (answer == Answer::kUnknown) {
    answer = getenv("RANK") != nullptr ? Answer::kYes : Answer::kNo;
    is_future_rank.store(answer, std::memory_order_relaxed);
  }
  return answer == Answer::kYes;
}

void LiveThrough(SimTime time) noexcept { lived_through = std::max(lived_through, time); }

void SleptThrough(SimTime end) noexcept {
  if (FollowsReceivedTime()) {
    RaiseFollower(end);
  } else if (ContinuedSession() == nullptr) {
    RaiseOwn(end);
  } else if (core::CurrentRole() == core::ThreadRole::kDriver) {
    MoveProgramTo(end);
  }
}

bool IsFixedModel() noexcept { return IsFixed(); }

bool SendsTime() noexcept { return InJob() && !core::IsTorchrun(); }

bool ReceivesTime() noexcept {
  if (!SendsTime() || IsFutureRank()) return false;
  return core::Session::Existing() != nullptr || !handed_over.load(std::memory_order_relaxed);
}

SentTime TimeToSend() noexcept {
  // A launcher's ranks make the transition when they first read a clock, whatever they write.
  core::Session* session = IsFutureRank() ? core::Session::Existing() : ContinuedSession();
  const bool follows = follows_received.load(std::memory_order_relaxed);
  const SimTime rank{core::ClockReading()};
  if (handed_over.load(std::memory_order_relaxed)) {
    if (session == nullptr || core::HasBegun()) {
      return {.time = rank + StartUp(), .start_up = StartUp(), .sender = Sender::kAsRank};
    }
    return {.time = rank + StartUp(),
            .start_up = {received_start_up_ps.load()},
            .sender = follows ? Sender::kByOthers : Sender::kFreely};
  }
  if (session != nullptr) {
    return {
        .time = std::max(rank, SimTime{own_ps.load()}), .start_up = {}, .sender = Sender::kAsRank};
  }
  return {.time = WithoutSession(),
          .start_up = {received_start_up_ps.load()},
          .sender = follows ? Sender::kByOthers : Sender::kFreely};
}

bool FollowsReceivedTime() noexcept {
  if (!follows_received.load(std::memory_order_relaxed)) return false;
  return core::Session::Existing() == nullptr ? !handed_over.load(std::memory_order_relaxed)
                                              : !core::HasBegun();
}

void ReceiveTime(const SentTime& sent) noexcept {
  // The clock of a sender that follows nothing runs with this machine.
  if (sent.sender == Sender::kFreely) return;
  if (core::Session::Existing() != nullptr && core::HasBegun()) {
    // Ranks are ordered by collectives.
    if (sent.sender == Sender::kAsRank) return;
    Raise(received_ps, sent.time.ps);
    if (core::CurrentRole() == core::ThreadRole::kDriver) ApplyReceivedTime();
    return;
  }
  if (!follows_received.load(std::memory_order_relaxed)) {
    RaiseFollower(ProgramTime());  // The last reading, from which the clock goes on.
    follows_received.store(true);
  }
  if (sent.start_up.ps != 0) received_start_up_ps.store(sent.start_up.ps);
  RaiseFollower(sent.time);
}

void ApplyReceivedTime() noexcept {
  const SimTime received{received_ps.load(std::memory_order_relaxed)};
  if (received.ps == 0 || core::CurrentRole() != core::ThreadRole::kDriver) return;
  if (ContinuedSession() != nullptr && ProgramNow() < received) MoveProgramTo(received);
}

SimTime RankTimeOfReceived(SimTime program_time) noexcept {
  return program_time - Duration{received_start_up_ps.load()};
}

bool JobHasReached(SimTime time) noexcept {
  const ring::ServerPage* page = core::MappedServerPage();
  if (page == nullptr) return true;
  const SimTime job{static_cast<std::int64_t>(page->job_clock_ps.load(std::memory_order_relaxed))};
  return job >= RankTimeOfReceived(time);
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
  return TimeAfter(SimTime{}, std::max<std::int64_t>(ns, 0));
}

SimTime TimeOfReading(clockid_t id, const timespec& reading) noexcept {
  return TimeOfReading(id, ToNs(reading));
}

std::int64_t RealNsUntil(clockid_t id, const timespec& reading) noexcept {
  timespec now{};
  real::ClockGettime(id, &now);
  return std::max<std::int64_t>(ToNs(reading) - ToNs(now), 0);
}

bool IsValid(const timespec& t) noexcept {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < kNsPerSecond;
}

std::int64_t ToNs(const timespec& t) noexcept {
  // 272 years: far beyond the end of virtual time, and sums stay far from overflow.
  constexpr std::int64_t kLongestSeconds = std::int64_t{1} << 33;
  return std::clamp<std::int64_t>(t.tv_sec, -kLongestSeconds, kLongestSeconds) * kNsPerSecond +
         t.tv_nsec;
}

timespec ToTimespec(std::int64_t ns) noexcept {
  return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}

clockid_t GuessClock(std::int64_t reading_ns) noexcept {
  return reading_ns >= kWallThresholdNs ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

void WaitExpired(SimTime target) noexcept {
  const SimTime after = target + kInstant;
  if (FollowsReceivedTime()) return RaiseFollower(after);
  core::Session* session = ContinuedSession();
  if (session == nullptr) {
    RaiseOwn(after);
    return;
  }
  if (core::CurrentRole() == core::ThreadRole::kDriver) MoveProgramTo(after);
}

void LookedInVain() noexcept { LiveThrough(OwnNow() + kInstant); }

std::int64_t& LastWallReadingNs() noexcept { return last_wall_reading_ns; }

void BeginNewProgram() noexcept {
  for (LimitedClock* clock : {&watchdog_clock, &gpu_free_clock, &fork_clock}) {
    std::construct_at(clock);
  }
  own_ps.store(0);
  start_up_ps.store(0);
  handed_over.store(false);
  follows_received.store(false);
  received_start_up_ps.store(0);
  received_ps.store(0);
  lived_through = {};
  standstill = {};
  last_wall_reading_ns = 0;
  is_future_rank.store(Answer::kUnknown);
}

}  // namespace eidolon::shim::time
