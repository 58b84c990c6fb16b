// Exports: waits with a timeout on conditions, semaphores and mutexes.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "shim/program/time/export.h"
#include "shim/program/time/real.h"
#include "shim/program/time/timed_wait.h"
#include "shim/program/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;
using eidolon::base::Duration;
using time_::TimedWait;

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

bool IsValid(const timespec& t) { return t.tv_nsec >= 0 && t.tv_nsec < kNsPerSecond; }

bool IsWaitable(clockid_t id) { return id == CLOCK_REALTIME || id == CLOCK_MONOTONIC; }

// CPython's interpreter lock waits on a monotonic condition for its switch interval, 5 ms, to ask
// for the lock, and never looks at the clock: how often that happens depends on the machine, so it
// does not move the clock.
constexpr Duration kLongestYield = Duration::Milliseconds(20);

enum class Expiry { kMovesClock, kMayBeYield };

int CondTimedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t id,
                  const timespec& until, Expiry expiry) {
  if (!IsValid(until)) return EINVAL;
  if (!time_::InJob()) {
    return time_::real::CondWait(condition, mutex, time_::RealNsUntil(id, until));
  }
  TimedWait wait(condition, time_::TimeOfReading(id, until));
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
  if (!IsValid(until) || !IsWaitable(id)) {
    errno = EINVAL;
    return -1;
  }
  if (!time_::InJob()) {
    return time_::real::SemaphoreWait(semaphore, time_::RealNsUntil(id, until));
  }
  TimedWait wait(semaphore, time_::TimeOfReading(id, until));
  const int result = wait.Repeat(ETIMEDOUT, [semaphore](std::int64_t ns) {
    return time_::real::SemaphoreWait(semaphore, ns) == 0 ? 0 : errno;
  });
  if (result == 0) return 0;
  errno = result;
  return -1;
}

int MutexTimedlock(pthread_mutex_t* mutex, clockid_t id, const timespec& until) {
  // One that is free is taken whatever the time says.
  if (!IsValid(until) || !IsWaitable(id)) {
    const int result = pthread_mutex_trylock(mutex);
    return result == EBUSY || !IsWaitable(id) ? EINVAL : result;
  }
  if (!time_::InJob()) return time_::real::MutexLock(mutex, time_::RealNsUntil(id, until));
  TimedWait wait(mutex, time_::TimeOfReading(id, until));
  return wait.Repeat(ETIMEDOUT,
                     [mutex](std::int64_t ns) { return time_::real::MutexLock(mutex, ns); });
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
  if (!IsWaitable(id)) return EINVAL;
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
