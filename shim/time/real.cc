#include "shim/time/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>

#include "services/base/check.h"
#include "shim/core/system.h"

namespace eidolon::shim::time::real {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

timespec ToTimespec(std::int64_t ns) {
  return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}

timespec MonotonicDeadline(std::int64_t ns) { return ToTimespec(MonotonicNs() + ns); }

// A libc function behind our export. The default version is what programs of today link to; dlsym
// alone may give the oldest one (pthread_cond_timedwait has two).
template <typename Function>
class Next {
 public:
  constexpr Next(const char* name, const char* version) : name_(name), version_(version) {}

  Function Get() noexcept {
    void* found = address_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      if (version_ != nullptr) found = dlvsym(RTLD_NEXT, name_, version_);
      if (found == nullptr) found = dlsym(RTLD_NEXT, name_);
      CHECK(found != nullptr);
      address_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function>(found);
  }

 private:
  const char* name_;
  const char* version_;
  std::atomic<void*> address_{nullptr};
};

constinit Next<int (*)(clockid_t, timespec*)> next_clock_gettime("clock_gettime", nullptr);
constinit Next<clock_t (*)()> next_clock("clock", nullptr);
constinit Next<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>
    next_cond_clockwait("pthread_cond_clockwait", nullptr);
constinit Next<int (*)(sem_t*, clockid_t, const timespec*)> next_sem_clockwait("sem_clockwait",
                                                                               nullptr);
constinit Next<int (*)(pthread_mutex_t*, clockid_t, const timespec*)> next_mutex_clocklock(
    "pthread_mutex_clocklock", nullptr);
constinit Next<int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*)> next_ppoll("ppoll",
                                                                                      nullptr);
constinit Next<int (*)(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>
    next_pselect("pselect", nullptr);
constinit Next<int (*)(int, epoll_event*, int, int, const sigset_t*)> next_epoll_pwait(
    "epoll_pwait", nullptr);
constinit Next<int (*)(pthread_t, const char*)> next_setname("pthread_setname_np", nullptr);
constinit Next<int (*)(int, int, const itimerspec*, itimerspec*)> next_timerfd("timerfd_settime",
                                                                               nullptr);

}  // namespace

int ClockGettime(clockid_t id, timespec* out) noexcept { return next_clock_gettime.Get()(id, out); }

std::int64_t MonotonicNs() noexcept {
  timespec now{};
  ClockGettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

clock_t Clock() noexcept { return next_clock.Get()(); }

int Sleep(std::int64_t ns, std::int64_t* left_ns) noexcept {
  const timespec wanted = ToTimespec(ns);
  timespec left{};
  const long result =
      core::RawSyscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, reinterpret_cast<long>(&wanted),
                       reinterpret_cast<long>(&left), 0, 0);
  *left_ns = result == 0 ? 0 : left.tv_sec * kNsPerSecond + left.tv_nsec;
  return static_cast<int>(-result);
}

int CondWait(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t ns) noexcept {
  const timespec deadline = MonotonicDeadline(ns);
  return next_cond_clockwait.Get()(condition, mutex, CLOCK_MONOTONIC, &deadline);
}

int SemaphoreWait(sem_t* semaphore, std::int64_t ns) noexcept {
  const timespec deadline = MonotonicDeadline(ns);
  return next_sem_clockwait.Get()(semaphore, CLOCK_MONOTONIC, &deadline);
}

int MutexLock(pthread_mutex_t* mutex, std::int64_t ns) noexcept {
  const timespec deadline = MonotonicDeadline(ns);
  return next_mutex_clocklock.Get()(mutex, CLOCK_MONOTONIC, &deadline);
}

int Poll(pollfd* fds, nfds_t count, std::int64_t ns, const sigset_t* mask) noexcept {
  const timespec timeout = ToTimespec(ns);
  return next_ppoll.Get()(fds, count, ns < 0 ? nullptr : &timeout, mask);
}

int Select(int count, fd_set* read, fd_set* write, fd_set* except, std::int64_t ns,
           const sigset_t* mask) noexcept {
  const timespec timeout = ToTimespec(ns);
  return next_pselect.Get()(count, read, write, except, ns < 0 ? nullptr : &timeout, mask);
}

int EpollWait(int epoll, epoll_event* events, int capacity, std::int64_t ns,
              const sigset_t* mask) noexcept {
  const int milliseconds = ns < 0 ? -1 : static_cast<int>((ns + 999'999) / 1'000'000);
  return next_epoll_pwait.Get()(epoll, events, capacity, milliseconds, mask);
}

int SetThreadName(pthread_t thread, const char* name) noexcept {
  return next_setname.Get()(thread, name);
}

int TimerfdSettime(int fd, int flags, const itimerspec* value, itimerspec* old) noexcept {
  return next_timerfd.Get()(fd, flags, value, old);
}

}  // namespace eidolon::shim::time::real
