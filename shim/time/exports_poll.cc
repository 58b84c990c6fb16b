// Exports: poll, select and epoll with a timeout.
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "shim/core/rank_clock.h"
#include "shim/time/export.h"
#include "shim/time/real.h"
#include "shim/time/timed_wait.h"
#include "shim/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;
using eidolon::base::Duration;

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kForever = -1;

// Nanoseconds of a relative timeout; null means for ever.
std::int64_t ToNs(const timespec* timeout) {
  if (timeout == nullptr) return kForever;
  return timeout->tv_sec * kNsPerSecond + timeout->tv_nsec;
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
    return result;
  }
  time_::TimedWait wait(object, time_::ThreadNow() + Duration::Nanoseconds(timeout_ns));
  while (true) {
    const int result = wait_once(wait.SliceNs());
    if (result != 0) {
      wait.Ended();
      return result;
    }
    if (wait.Expired()) return 0;
  }
}

int SelectInSlices(int count, fd_set* read, fd_set* write, fd_set* except, std::int64_t timeout_ns,
                   const sigset_t* mask) {
  // A slice that ends empty clears the sets, so every slice starts from what the caller asked for.
  const fd_set none{};
  const fd_set asked[3] = {read ? *read : none, write ? *write : none, except ? *except : none};
  return WaitInSlices(read, timeout_ns, [&](std::int64_t ns) {
    if (read) *read = asked[0];
    if (write) *write = asked[1];
    if (except) *except = asked[2];
    return time_::real::Select(count, read, write, except, ns, mask);
  });
}

}  // namespace

EIDOLON_TIME_EXPORT int poll(pollfd* fds, nfds_t count, int timeout_ms) {
  const std::int64_t ns = timeout_ms < 0 ? kForever : std::int64_t{timeout_ms} * 1'000'000;
  return WaitInSlices(
      fds, ns, [&](std::int64_t slice) { return time_::real::Poll(fds, count, slice, nullptr); });
}

EIDOLON_TIME_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout,
                              const sigset_t* mask) {
  return WaitInSlices(fds, ToNs(timeout), [&](std::int64_t slice) {
    return time_::real::Poll(fds, count, slice, mask);
  });
}

EIDOLON_TIME_EXPORT int select(int count, fd_set* read, fd_set* write, fd_set* except,
                               timeval* timeout) {
  const std::int64_t ns =
      timeout == nullptr ? kForever : timeout->tv_sec * kNsPerSecond + timeout->tv_usec * 1000;
  return SelectInSlices(count, read, write, except, ns, nullptr);
}

EIDOLON_TIME_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                                const timespec* timeout, const sigset_t* mask) {
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
  return WaitInSlices(events, ToNs(timeout), [&](std::int64_t slice) {
    return time_::real::EpollWait(epoll, events, capacity, slice, mask);
  });
}
