// Exports: poll, select and epoll with a timeout.
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <algorithm>
#include <cstring>

#include "shim/core/rank_clock.h"
#include "shim/program/time/export.h"
#include "shim/program/time/real.h"
#include "shim/program/time/timed_wait.h"
#include "shim/program/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kForever = -1;

// Nanoseconds of a relative timeout; null means for ever.
std::int64_t ToNs(const timespec* timeout) {
  return timeout == nullptr ? kForever : time_::ToNs(*timeout);
}

bool IsInvalid(const timespec* timeout) { return timeout != nullptr && !time_::IsValid(*timeout); }

int Invalid() {
  errno = EINVAL;
  return -1;
}

// Runs `wait_once(ns)` (0: no event within ns) until an event, an error or the virtual timeout.
template <typename WaitOnce>
int WaitInSlices(const void* object, std::int64_t timeout_ns, WaitOnce&& wait_once) {
  if (!time_::InJob()) return wait_once(timeout_ns);
  if (timeout_ns == 0) {
    const int result = wait_once(0);
    if (result == 0) time_::LookedInVain();
    return result;
  }
  if (timeout_ns < 0) {
    const int result = wait_once(kForever);
    eidolon::shim::core::NoteWaited();
    time_::ApplyReceivedTime();
    return result;
  }
  time_::TimedWait wait(object, time_::TimeAfter(time_::ThreadNow(), timeout_ns));
  return wait.Repeat(0, wait_once);
}

int SelectInSlices(int count, fd_set* read, fd_set* write, fd_set* except, std::int64_t timeout_ns,
                   const sigset_t* mask) {
  // A slice that ends empty clears the sets, so every slice starts from what the caller asked for.
  // They are as long as `count` says, which may be more than an fd_set.
  constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);
  constexpr std::size_t kWords = 1024;  // 65,536 descriptors; beyond that sets are not kept.
  const std::size_t words =
      count < 0 ? 0 : (static_cast<std::size_t>(count) + kWordBits - 1) / kWordBits;
  fd_set* const sets[3] = {read, write, except};
  unsigned long asked[3][kWords];
  const std::size_t bytes = std::min(words, kWords) * sizeof(unsigned long);
  for (int i = 0; i < 3; ++i) {
    if (sets[i] != nullptr) std::memcpy(asked[i], sets[i], bytes);
  }
  return WaitInSlices(read, timeout_ns, [&](std::int64_t ns) {
    for (int i = 0; i < 3; ++i) {
      if (sets[i] != nullptr) std::memcpy(sets[i], asked[i], bytes);
    }
    return time_::real::Select(count, read, write, except, ns, mask);
  });
}

// Nanoseconds of the clock that measures a timeout: the program's, or outside a job the system's.
std::int64_t TimeoutClockNs() {
  return time_::InJob() ? time_::ThreadNow().ps / 1000 : time_::real::MonotonicNs();
}

}  // namespace

EIDOLON_TIME_EXPORT int poll(pollfd* fds, nfds_t count, int timeout_ms) {
  const std::int64_t ns = timeout_ms < 0 ? kForever : std::int64_t{timeout_ms} * 1'000'000;
  return WaitInSlices(
      fds, ns, [&](std::int64_t slice) { return time_::real::Poll(fds, count, slice, nullptr); });
}

EIDOLON_TIME_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout,
                              const sigset_t* mask) {
  if (IsInvalid(timeout)) return Invalid();
  return WaitInSlices(fds, ToNs(timeout), [&](std::int64_t slice) {
    return time_::real::Poll(fds, count, slice, mask);
  });
}

EIDOLON_TIME_EXPORT int select(int count, fd_set* read, fd_set* write, fd_set* except,
                               timeval* timeout) {
  if (timeout == nullptr) return SelectInSlices(count, read, write, except, kForever, nullptr);
  if (timeout->tv_sec < 0 || timeout->tv_usec < 0) return Invalid();
  const std::int64_t carried = timeout->tv_usec / 1'000'000;
  const std::int64_t ns = time_::ToNs(
      {.tv_sec = timeout->tv_sec + carried, .tv_nsec = timeout->tv_usec % 1'000'000 * 1000});
  const std::int64_t begin = TimeoutClockNs();
  const int result = SelectInSlices(count, read, write, except, ns, nullptr);
  // Linux writes back what is left.
  const std::int64_t left = std::max<std::int64_t>(ns - (TimeoutClockNs() - begin), 0);
  *timeout = {.tv_sec = left / kNsPerSecond, .tv_usec = left % kNsPerSecond / 1000};
  return result;
}

EIDOLON_TIME_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                                const timespec* timeout, const sigset_t* mask) {
  if (IsInvalid(timeout)) return Invalid();
  return SelectInSlices(count, read, write, except, ToNs(timeout), mask);
}

EIDOLON_TIME_EXPORT int epoll_wait(int epoll, epoll_event* events, int capacity, int timeout_ms) {
  return epoll_pwait(epoll, events, capacity, timeout_ms, nullptr);
}

EIDOLON_TIME_EXPORT int epoll_pwait(int epoll, epoll_event* events, int capacity, int timeout_ms,
                                    const sigset_t* mask) {
  const std::int64_t ns = timeout_ms < 0 ? kForever : std::int64_t{timeout_ms} * 1'000'000;
  return WaitInSlices(events, ns, [&](std::int64_t slice) {
    return time_::real::EpollWait(epoll, events, capacity, slice, mask);
  });
}

EIDOLON_TIME_EXPORT int epoll_pwait2(int epoll, epoll_event* events, int capacity,
                                     const timespec* timeout, const sigset_t* mask) {
  if (IsInvalid(timeout)) return Invalid();
  return WaitInSlices(events, ToNs(timeout), [&](std::int64_t slice) {
    return time_::real::EpollWait(epoll, events, capacity, slice, mask);
  });
}
