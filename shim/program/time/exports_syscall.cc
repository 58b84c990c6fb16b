// Export: syscall. Programs and libraries reach the kernel's clocks and waits through it, past the
// functions of libc: those that we answer go to our functions, all others to the kernel.
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <optional>

#include "shim/core/rank_clock.h"
#include "shim/core/system.h"
#include "shim/program/time/export.h"
#include "shim/program/time/timed_wait.h"
#include "shim/program/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;

namespace {

template <typename Pointed>
Pointed* At(long address) {
  return reinterpret_cast<Pointed*>(address);
}

// FUTEX_WAIT and its relatives with a timeout. Returns as the kernel does.
long FutexWait(const long (&a)[6]) {
  const auto& timeout = *At<const timespec>(a[3]);
  if (!time_::IsValid(timeout)) return -EINVAL;
  const long command = a[1] & FUTEX_CMD_MASK;
  const bool absolute = command != FUTEX_WAIT;
  const bool on_wall = (a[1] & FUTEX_CLOCK_REALTIME) != 0;
  const auto deadline =
      absolute ? time_::TimeOfReading(on_wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, timeout)
               : time_::TimeAfter(time_::ThreadNow(), time_::ToNs(timeout));
  time_::TimedWait wait(At<const void>(a[0]), deadline);
  const long as_bitset = (a[1] & FUTEX_PRIVATE_FLAG) | FUTEX_WAIT_BITSET;
  const long mask = command == FUTEX_WAIT ? long{FUTEX_BITSET_MATCH_ANY} : a[5];
  return wait.Repeat(long{-ETIMEDOUT}, [&](std::int64_t ns) {
    timespec now{};
    eidolon::shim::core::RawSyscall(SYS_clock_gettime, CLOCK_MONOTONIC,
                                    reinterpret_cast<long>(&now));
    const timespec until = time_::ToTimespec(time_::ToNs(now) + ns);
    return eidolon::shim::core::RawSyscall(SYS_futex, a[0], as_bitset, a[2],
                                           reinterpret_cast<long>(&until), 0, mask);
  });
}

// Waits as long as it takes; C++'s atomics wait so.
long UntimedFutexWait(const long (&a)[6]) {
  const long result = eidolon::shim::core::RawSyscall(SYS_futex, a[0], a[1], a[2], 0, a[4], a[5]);
  eidolon::shim::core::NoteWaited();
  return result;
}

bool IsFutexWait(const long (&a)[6]) {
  const long command = a[1] & FUTEX_CMD_MASK;
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

// Converts the result of a function that sets errno.
long AsKernel(long result) { return result < 0 ? -errno : result; }

// The kernel's pselect6 takes the mask and its size in one.
struct SizedMask {
  const sigset_t* mask;
  size_t bytes;
};

long Sleep(long number, const long (&a)[6]) {
  if (number == SYS_nanosleep) return AsKernel(nanosleep(At<timespec>(a[0]), At<timespec>(a[1])));
  return -clock_nanosleep(static_cast<clockid_t>(a[0]), static_cast<int>(a[1]), At<timespec>(a[2]),
                          At<timespec>(a[3]));
}

std::optional<long> Wait(long number, const long (&a)[6]) {
  const auto first = static_cast<int>(a[0]);
  const auto third = static_cast<int>(a[2]);
  const auto fourth = static_cast<int>(a[3]);
  switch (number) {
    case SYS_futex:
      if (!IsFutexWait(a)) return std::nullopt;
      return a[3] == 0 ? UntimedFutexWait(a) : FutexWait(a);
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return Sleep(number, a);
    case SYS_ppoll:
      return AsKernel(ppoll(At<pollfd>(a[0]), static_cast<nfds_t>(a[1]), At<timespec>(a[2]),
                            At<sigset_t>(a[3])));
    case SYS_pselect6: {
      const auto* mask = At<const SizedMask>(a[5]);
      return AsKernel(pselect(first, At<fd_set>(a[1]), At<fd_set>(a[2]), At<fd_set>(a[3]),
                              At<timespec>(a[4]), mask == nullptr ? nullptr : mask->mask));
    }
    case SYS_epoll_pwait:
      return AsKernel(epoll_pwait(first, At<epoll_event>(a[1]), third, fourth, At<sigset_t>(a[4])));
    case SYS_rt_sigtimedwait:
      return AsKernel(sigtimedwait(At<sigset_t>(a[0]), At<siginfo_t>(a[1]), At<timespec>(a[2])));
#if defined(__x86_64__)
    case SYS_poll:
      return AsKernel(poll(At<pollfd>(a[0]), static_cast<nfds_t>(a[1]), third));
    case SYS_select:
      return AsKernel(
          select(first, At<fd_set>(a[1]), At<fd_set>(a[2]), At<fd_set>(a[3]), At<timeval>(a[4])));
    case SYS_epoll_wait:
      return AsKernel(epoll_wait(first, At<epoll_event>(a[1]), third, fourth));
#endif
    default:
      return std::nullopt;
  }
}

std::optional<long> ReadOrArm(long number, const long (&a)[6]) {
  const auto first = static_cast<int>(a[0]);
  const auto second = static_cast<int>(a[1]);
  switch (number) {
    case SYS_clock_gettime:
      if (!time_::IsVirtual(first)) return std::nullopt;
      return AsKernel(clock_gettime(first, At<timespec>(a[1])));
    case SYS_gettimeofday:
      return AsKernel(gettimeofday(At<timeval>(a[0]), At<void>(a[1])));
    case SYS_setitimer:
      return AsKernel(
          setitimer(static_cast<__itimer_which>(first), At<itimerval>(a[1]), At<itimerval>(a[2])));
    case SYS_getitimer:
      return AsKernel(getitimer(static_cast<__itimer_which>(first), At<itimerval>(a[1])));
    case SYS_timerfd_create:
      return AsKernel(timerfd_create(first, second));
    case SYS_timerfd_settime:
      return AsKernel(timerfd_settime(first, second, At<itimerspec>(a[2]), At<itimerspec>(a[3])));
    case SYS_timerfd_gettime:
      return AsKernel(timerfd_gettime(first, At<itimerspec>(a[1])));
#if defined(__x86_64__)
    case SYS_time:
      return AsKernel(time(At<time_t>(a[0])));
    case SYS_alarm:
      return static_cast<long>(alarm(static_cast<unsigned>(a[0])));
#endif
    default:
      return std::nullopt;
  }
}

}  // namespace

EIDOLON_TIME_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& value : a) value = va_arg(list, long);
  va_end(list);
  const int kept = errno;
  std::optional<long> answer;
  if (time_::InJob()) {
    answer = Wait(number, a);
    if (!answer) answer = ReadOrArm(number, a);
  }
  const long result =
      answer ? *answer
             : eidolon::shim::core::RawSyscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  errno = kept;
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
