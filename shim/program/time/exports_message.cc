// Exports: waits with a timeout for signals, messages of queues, System V semaphores and
// asynchronous files.
#include <aio.h>
#include <errno.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/sem.h>

#include "shim/core/rank_clock.h"
#include "shim/program/time/export.h"
#include "shim/program/time/real.h"
#include "shim/program/time/timed_wait.h"
#include "shim/program/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;
namespace real = time_::real;

namespace {

constexpr std::int64_t kForever = -1;

long Failed(int error) {
  errno = error;
  return -1;
}

// Runs `wait_once(ns)` until it gives something, fails with anything but `timed_out`, or time has
// passed.
template <typename WaitOnce>
long Repeat(time_::TimedWait& wait, int timed_out, const WaitOnce& wait_once) {
  // Results are never that negative.
  constexpr long kTimedOut = -2;
  const long result = wait.Repeat(kTimedOut, [&](std::int64_t ns) {
    const long once = wait_once(ns);
    return once < 0 && errno == timed_out ? kTimedOut : once;
  });
  return result == kTimedOut ? Failed(timed_out) : result;
}

template <typename WaitOnce>
long WaitFor(const void* object, const timespec* timeout, const WaitOnce& wait_once) {
  if (timeout == nullptr) {
    const long result = wait_once(kForever);
    if (time_::InJob()) eidolon::shim::core::NoteWaited();
    return result;
  }
  if (!time_::IsValid(*timeout)) return Failed(EINVAL);
  const std::int64_t ns = time_::ToNs(*timeout);
  if (!time_::InJob()) return wait_once(ns);
  if (ns == 0) {
    const long result = wait_once(0);
    if (result < 0 && errno == EAGAIN) time_::LookedInVain();
    return result;
  }
  time_::TimedWait wait(object, time_::TimeAfter(time_::ThreadNow(), ns));
  return Repeat(wait, EAGAIN, wait_once);
}

// A message that can pass at once does, whatever the time says; then an invalid one is refused.
template <typename WaitOnce>
long WaitUntil(mqd_t queue, const timespec& until, const WaitOnce& wait_once) {
  if (until.tv_nsec < 0 || until.tv_nsec >= 1'000'000'000 || until.tv_sec < 0) {
    return Failed(EINVAL);
  }
  if (!time_::InJob()) return wait_once(time_::RealNsUntil(CLOCK_REALTIME, until));
  time_::TimedWait wait(reinterpret_cast<const void*>(static_cast<std::intptr_t>(queue)),
                        time_::TimeOfReading(CLOCK_REALTIME, until));
  return Repeat(wait, ETIMEDOUT, wait_once);
}

}  // namespace

EIDOLON_TIME_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info,
                                     const timespec* timeout) {
  return static_cast<int>(WaitFor(set, timeout, [set, info](std::int64_t ns) {
    return static_cast<long>(real::SignalWait(set, info, ns));
  }));
}

EIDOLON_TIME_EXPORT int semtimedop(int set, sembuf* operations, size_t count,
                                   const timespec* timeout) noexcept {
  return static_cast<int>(WaitFor(operations, timeout, [=](std::int64_t ns) {
    return static_cast<long>(real::SemaphoreSetWait(set, operations, count, ns));
  }));
}

EIDOLON_TIME_EXPORT int aio_suspend(const aiocb* const list[], int count, const timespec* timeout) {
  return static_cast<int>(WaitFor(list, timeout, [list, count](std::int64_t ns) {
    return static_cast<long>(real::AioSuspend(list, count, ns));
  }));
}

EIDOLON_TIME_EXPORT ssize_t mq_timedreceive(mqd_t queue, char* message, size_t bytes,
                                            unsigned* priority, const timespec* until) {
  if (until == nullptr) return real::QueueReceive(queue, message, bytes, priority, kForever);
  return WaitUntil(queue, *until, [=](std::int64_t ns) {
    return static_cast<long>(real::QueueReceive(queue, message, bytes, priority, ns));
  });
}

EIDOLON_TIME_EXPORT int mq_timedsend(mqd_t queue, const char* message, size_t bytes,
                                     unsigned priority, const timespec* until) {
  if (until == nullptr) return real::QueueSend(queue, message, bytes, priority, kForever);
  return static_cast<int>(WaitUntil(queue, *until, [=](std::int64_t ns) {
    return static_cast<long>(real::QueueSend(queue, message, bytes, priority, ns));
  }));
}
