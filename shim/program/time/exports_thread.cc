// Exports: yields, waits with a timeout on read-write locks and threads, and those of C11.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <threads.h>
#include <time.h>

#include "shim/program/time/export.h"
#include "shim/program/time/lone_yield.h"
#include "shim/program/time/real.h"
#include "shim/program/time/timed_wait.h"
#include "shim/program/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;
namespace real = time_::real;

namespace {

constinit thread_local time_::LoneYield yields;

bool IsValid(const timespec& t) { return t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000; }

// Waits for `object` until `until`; `wait_once(ns)` gives 0 or an error number.
template <typename WaitOnce>
int WaitUntil(const void* object, clockid_t id, const timespec& until, const WaitOnce& wait_once) {
  if (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC) return EINVAL;
  if (!IsValid(until)) return EINVAL;
  if (!time_::InJob()) return wait_once(time_::RealNsUntil(id, until));
  time_::TimedWait wait(object, time_::TimeOfReading(id, until));
  return wait.Repeat(ETIMEDOUT, wait_once);
}

int ReadLock(pthread_rwlock_t* lock, clockid_t id, const timespec& until) {
  return WaitUntil(lock, id, until, [lock](std::int64_t ns) { return real::RwlockRead(lock, ns); });
}

int WriteLock(pthread_rwlock_t* lock, clockid_t id, const timespec& until) {
  return WaitUntil(lock, id, until,
                   [lock](std::int64_t ns) { return real::RwlockWrite(lock, ns); });
}

int Join(pthread_t thread, void** result, clockid_t id, const timespec* until) {
  if (until == nullptr) return pthread_join(thread, result);
  return WaitUntil(reinterpret_cast<const void*>(thread), id, *until,
                   [thread, result](std::int64_t ns) { return real::Join(thread, result, ns); });
}

int ToC11(int error) {
  if (error == 0) return thrd_success;
  return error == ETIMEDOUT ? thrd_timedout : thrd_error;
}

}  // namespace

EIDOLON_TIME_EXPORT int sched_yield() noexcept {
  if (time_::InJob() && yields.IsFirst(real::MonotonicNs())) return 0;
  return real::Yield();
}

EIDOLON_TIME_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock,
                                                   const timespec* until) noexcept {
  return ReadLock(lock, CLOCK_REALTIME, *until);
}

EIDOLON_TIME_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t id,
                                                   const timespec* until) noexcept {
  return ReadLock(lock, id, *until);
}

EIDOLON_TIME_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock,
                                                   const timespec* until) noexcept {
  return WriteLock(lock, CLOCK_REALTIME, *until);
}

EIDOLON_TIME_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t id,
                                                   const timespec* until) noexcept {
  return WriteLock(lock, id, *until);
}

EIDOLON_TIME_EXPORT int pthread_timedjoin_np(pthread_t thread, void** result,
                                             const timespec* until) {
  return Join(thread, result, CLOCK_REALTIME, until);
}

EIDOLON_TIME_EXPORT int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t id,
                                             const timespec* until) {
  return Join(thread, result, id, until);
}

// glibc's C11 types are its POSIX types under other names.
EIDOLON_TIME_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return ToC11(pthread_cond_clockwait(reinterpret_cast<pthread_cond_t*>(condition),
                                      reinterpret_cast<pthread_mutex_t*>(mutex), CLOCK_REALTIME,
                                      until));
}

EIDOLON_TIME_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  return ToC11(pthread_mutex_timedlock(reinterpret_cast<pthread_mutex_t*>(mutex), until));
}
