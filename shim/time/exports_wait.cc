// Exports: waits with a timeout on conditions, semaphores, mutexes and raw futexes.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

#include "shim/core/system.h"
#include "shim/time/export.h"
#include "shim/time/real.h"
#include "shim/time/timed_wait.h"
#include "shim/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;
using eidolon::base::Duration;
using eidolon::base::SimTime;
using time_::TimedWait;

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

bool IsValid(const timespec& t) { return t.tv_nsec >= 0 && t.tv_nsec < kNsPerSecond; }

std::int64_t ReadingOf(const timespec& t) {
  constexpr std::int64_t kLongestSeconds = std::int64_t{1} << 33;
  return (t.tv_sec < kLongestSeconds ? t.tv_sec : kLongestSeconds) * kNsPerSecond + t.tv_nsec;
}

SimTime DeadlineOf(const timespec& t) {
  const std::int64_t reading = ReadingOf(t);
  return time_::TimeOfReading(time_::GuessClock(reading), reading);
}

// Real nanoseconds until an absolute time of a real clock, for processes outside a job.
std::int64_t RealNsUntil(clockid_t id, const timespec& t) {
  timespec now{};
  time_::real::ClockGettime(id, &now);
  const std::int64_t left = ReadingOf(t) - ReadingOf(now);
  return left > 0 ? left : 0;
}

// CPython's interpreter lock waits on a monotonic condition for its switch interval, 5 ms, to ask
// for the lock, and never looks at the clock: how often that happens depends on the machine, so it
// is no time.
constexpr Duration kLongestYield = Duration::Milliseconds(20);

enum class Expiry { kMovesClock, kMayBeYield };

int CondTimedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t id,
                  const timespec& until, Expiry expiry) {
  if (!IsValid(until)) return EINVAL;
  if (!time_::InJob()) return time_::real::CondWait(condition, mutex, RealNsUntil(id, until));
  TimedWait wait(condition, DeadlineOf(until));
  const int result = time_::real::CondWait(condition, mutex, wait.SliceNs());
  if (result == ETIMEDOUT) {
    // A slice without a signal must return to the caller: a signal sent between two slices would be
    // lost. POSIX allows such wake-ups, and the next call continues this wait.
    const bool yields = expiry == Expiry::kMayBeYield && wait.length() < kLongestYield;
    if (!yields && wait.Expired()) return ETIMEDOUT;
    time_::NoteYield();
    return yields && wait.ExpiredAsYield() ? ETIMEDOUT : 0;
  }
  wait.Ended();
  return result;
}

int SemaphoreTimedwait(sem_t* semaphore, clockid_t id, const timespec& until) {
  if (!IsValid(until)) {
    errno = EINVAL;
    return -1;
  }
  if (!time_::InJob()) return time_::real::SemaphoreWait(semaphore, RealNsUntil(id, until));
  TimedWait wait(semaphore, DeadlineOf(until));
  while (true) {
    const int result = time_::real::SemaphoreWait(semaphore, wait.SliceNs());
    if (result == 0 || errno != ETIMEDOUT) {
      if (result == 0) wait.Ended();
      return result;
    }
    if (wait.Expired()) {
      errno = ETIMEDOUT;
      return -1;
    }
  }
}

int MutexTimedlock(pthread_mutex_t* mutex, clockid_t id, const timespec& until) {
  if (!IsValid(until)) return EINVAL;
  if (!time_::InJob()) return time_::real::MutexLock(mutex, RealNsUntil(id, until));
  TimedWait wait(mutex, DeadlineOf(until));
  while (true) {
    const int result = time_::real::MutexLock(mutex, wait.SliceNs());
    if (result != ETIMEDOUT) {
      wait.Ended();
      return result;
    }
    if (wait.Expired()) return ETIMEDOUT;
  }
}

// FUTEX_WAIT with a timeout, as libstdc++'s futures and semaphores use it. Returns as the kernel
// does.
long FutexWait(long address, long operation, long value, const timespec& timeout, long mask) {
  const bool absolute = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  const SimTime deadline = absolute
                               ? DeadlineOf(timeout)
                               : time_::ThreadNow() + Duration::Nanoseconds(ReadingOf(timeout));
  TimedWait wait(reinterpret_cast<const void*>(address), deadline);
  const long relative_wait = (operation & FUTEX_PRIVATE_FLAG) | FUTEX_WAIT;
  static_cast<void>(mask);  // FUTEX_BITSET_MATCH_ANY is the only mask libraries wait with.
  while (true) {
    const std::int64_t slice = wait.SliceNs();
    const timespec real{.tv_sec = slice / kNsPerSecond, .tv_nsec = slice % kNsPerSecond};
    const long result = eidolon::shim::core::RawSyscall(SYS_futex, address, relative_wait, value,
                                                        reinterpret_cast<long>(&real), 0, 0);
    if (result != -ETIMEDOUT) {
      wait.Ended();
      return result;
    }
    if (wait.Expired()) return -ETIMEDOUT;
  }
}

bool IsTimedFutexWait(long number, long operation, long timeout) {
  if (number != SYS_futex || timeout == 0) return false;
  const long command = operation & FUTEX_CMD_MASK;
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

}  // namespace

EIDOLON_TIME_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                               const timespec* until) {
  // The condition's clock is not visible; the magnitude of the deadline tells it.
  timespec now{};
  time_::real::ClockGettime(CLOCK_REALTIME, &now);
  const clockid_t id = until->tv_sec > now.tv_sec / 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const Expiry expiry = id == CLOCK_MONOTONIC ? Expiry::kMayBeYield : Expiry::kMovesClock;
  return CondTimedwait(condition, mutex, id, *until, expiry);
}

EIDOLON_TIME_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                               clockid_t id, const timespec* until) {
  return CondTimedwait(condition, mutex, id, *until, Expiry::kMovesClock);
}

EIDOLON_TIME_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  return SemaphoreTimedwait(semaphore, CLOCK_REALTIME, *until);
}

EIDOLON_TIME_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t id, const timespec* until) {
  return SemaphoreTimedwait(semaphore, id, *until);
}

EIDOLON_TIME_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                                                const timespec* until) noexcept {
  return MutexTimedlock(mutex, CLOCK_REALTIME, *until);
}

EIDOLON_TIME_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t id,
                                                const timespec* until) noexcept {
  return MutexTimedlock(mutex, id, *until);
}

EIDOLON_TIME_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& value : a) value = va_arg(list, long);
  va_end(list);
  const long result =
      time_::InJob() && IsTimedFutexWait(number, a[1], a[3])
          ? FutexWait(a[0], a[1], a[2], *reinterpret_cast<timespec*>(a[3]), a[5])
          : eidolon::shim::core::RawSyscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
