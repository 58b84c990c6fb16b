// The shim exports these names itself, so a plain call would come back to the shim: each function
// is looked up behind it, once, and without a lock (two threads that race find the same address).
// Waits go through libc and not to the kernel, because a condition variable or a mutex is libc's
// structure; only the sleep and the processor times are system calls. All timeouts are relative
// real nanoseconds here, and are turned into what each function expects. Absolute ones without a
// variant for the monotonic clock (read-write locks, joins, message queues) use the wall clock, so
// a step of it moves them. Under ThreadSanitizer the next function is the sanitizer's own, which
// has to see each wait.
#include "shim/program/time/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>

#include "shim/core/system.h"
#include "shim/program/time/next_function.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EIDOLON_THREAD_SANITIZER 1
#endif
#endif

#ifdef EIDOLON_THREAD_SANITIZER
// The sanitizer's own, behind our exports: it has to see who waits for whom.
extern "C" {
int __interceptor_pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex);
int __interceptor_sem_wait(sem_t* semaphore);
int __interceptor_pthread_join(pthread_t thread, void** result);
int __interceptor_sigaction(int number, const struct sigaction* wanted, struct sigaction* before);
}
#endif

namespace eidolon::shim::time::real {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

timespec ToTimespec(std::int64_t ns) {
  return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}

timespec MonotonicDeadline(std::int64_t ns) { return ToTimespec(MonotonicNs() + ns); }

timespec WallDeadline(std::int64_t ns) {
  timespec now{};
  ClockGettime(CLOCK_REALTIME, &now);
  return ToTimespec(now.tv_sec * kNsPerSecond + now.tv_nsec + ns);
}

constinit Next<int (*)(clockid_t, timespec*)> next_clock_gettime("clock_gettime", nullptr);
constinit Next<clock_t (*)()> next_clock("clock", nullptr);
constinit Next<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>
    next_cond_clockwait("pthread_cond_clockwait", nullptr);
#ifndef EIDOLON_THREAD_SANITIZER
constinit Next<int (*)(pthread_cond_t*, pthread_mutex_t*)> next_cond_wait("pthread_cond_wait",
                                                                          "GLIBC_2.3.2");
constinit Next<int (*)(sem_t*)> next_sem_wait("sem_wait", nullptr);
constinit Next<int (*)(pthread_t, void**)> next_untimed_join("pthread_join", nullptr);
#endif
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
constinit Next<int (*)()> next_yield("sched_yield", nullptr);
constinit Next<int (*)(int, int)> next_flock("flock", nullptr);
constinit Next<int (*)(int, const struct sigaction*, struct sigaction*)> next_sigaction("sigaction",
                                                                                        nullptr);
constinit Next<sighandler_t (*)(int, sighandler_t)> next_signal("signal", nullptr);
constinit Next<int (*)(int, int, const itimerspec*, itimerspec*)> next_timerfd("timerfd_settime",
                                                                               nullptr);

constinit Next<int (*)(clockid_t, int, const timespec*, timespec*)> next_clock_nanosleep(
    "clock_nanosleep", "GLIBC_2.17");
constinit Next<int (*)(int, int)> next_timerfd_create("timerfd_create", nullptr);
constinit Next<int (*)(int, itimerspec*)> next_timerfd_gettime("timerfd_gettime", nullptr);
constinit Next<int (*)(int, const itimerval*, itimerval*)> next_setitimer("setitimer", nullptr);
constinit Next<int (*)(int, itimerval*)> next_getitimer("getitimer", nullptr);
// Before glibc 2.34 these lie in librt, whose first version of them had other identifiers.
constexpr const char* kTimers[] = {"GLIBC_2.34", "GLIBC_2.3.3"};
constinit Next<int (*)(clockid_t, sigevent*, timer_t*)> next_timer_create("timer_create", kTimers);
constinit Next<int (*)(timer_t)> next_timer_delete("timer_delete", kTimers);
constinit Next<int (*)(timer_t, int, const itimerspec*, itimerspec*)> next_timer_settime(
    "timer_settime", kTimers);
constinit Next<int (*)(timer_t, itimerspec*)> next_timer_gettime("timer_gettime", kTimers);
constinit Next<int (*)(pthread_rwlock_t*, const timespec*)> next_rwlock_read(
    "pthread_rwlock_timedrdlock", nullptr);
constinit Next<int (*)(pthread_rwlock_t*, const timespec*)> next_rwlock_write(
    "pthread_rwlock_timedwrlock", nullptr);
constinit Next<int (*)(pthread_t, void**, const timespec*)> next_join("pthread_timedjoin_np",
                                                                      nullptr);
constinit Next<int (*)(const sigset_t*, siginfo_t*, const timespec*)> next_sigtimedwait(
    "sigtimedwait", nullptr);
constinit Next<ssize_t (*)(mqd_t, char*, std::size_t, unsigned*, const timespec*)> next_mq_receive(
    "mq_timedreceive", nullptr);
constinit Next<int (*)(mqd_t, const char*, std::size_t, unsigned, const timespec*)> next_mq_send(
    "mq_timedsend", nullptr);
constinit Next<int (*)(int, sembuf*, std::size_t, const timespec*)> next_semtimedop("semtimedop",
                                                                                    nullptr);
constinit Next<int (*)(const aiocb* const[], int, const timespec*)> next_aio_suspend("aio_suspend",
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

#ifdef EIDOLON_THREAD_SANITIZER
int CondWait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return __interceptor_pthread_cond_wait(condition, mutex);
}

int SemaphoreWait(sem_t* semaphore) { return __interceptor_sem_wait(semaphore); }

int Join(pthread_t thread, void** result) { return __interceptor_pthread_join(thread, result); }
#else
int CondWait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return next_cond_wait.Get()(condition, mutex);
}

int SemaphoreWait(sem_t* semaphore) { return next_sem_wait.Get()(semaphore); }

int Join(pthread_t thread, void** result) { return next_untimed_join.Get()(thread, result); }
#endif

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

int Yield() noexcept { return next_yield.Get()(); }

int LockFile(int fd, int operation) noexcept { return next_flock.Get()(fd, operation); }

int Sigaction(int number, const struct sigaction* wanted, struct sigaction* before) noexcept {
#ifdef EIDOLON_THREAD_SANITIZER
  return __interceptor_sigaction(number, wanted, before);
#else
  return next_sigaction.Get()(number, wanted, before);
#endif
}

sighandler_t Signal(int number, sighandler_t handler) noexcept {
  return next_signal.Get()(number, handler);
}

int RwlockRead(pthread_rwlock_t* lock, std::int64_t ns) noexcept {
  const timespec deadline = WallDeadline(ns);
  return next_rwlock_read.Get()(lock, &deadline);
}

int RwlockWrite(pthread_rwlock_t* lock, std::int64_t ns) noexcept {
  const timespec deadline = WallDeadline(ns);
  return next_rwlock_write.Get()(lock, &deadline);
}

int Join(pthread_t thread, void** result, std::int64_t ns) noexcept {
  const timespec deadline = WallDeadline(ns);
  return next_join.Get()(thread, result, &deadline);
}

int SignalWait(const sigset_t* set, siginfo_t* info, std::int64_t ns) noexcept {
  const timespec timeout = ToTimespec(ns);
  return next_sigtimedwait.Get()(set, info, ns < 0 ? nullptr : &timeout);
}

ssize_t QueueReceive(mqd_t queue, char* message, std::size_t bytes, unsigned* priority,
                     std::int64_t ns) noexcept {
  const timespec deadline = WallDeadline(ns);
  return next_mq_receive.Get()(queue, message, bytes, priority, ns < 0 ? nullptr : &deadline);
}

int QueueSend(mqd_t queue, const char* message, std::size_t bytes, unsigned priority,
              std::int64_t ns) noexcept {
  const timespec deadline = WallDeadline(ns);
  return next_mq_send.Get()(queue, message, bytes, priority, ns < 0 ? nullptr : &deadline);
}

int SemaphoreSetWait(int set, sembuf* operations, std::size_t count, std::int64_t ns) noexcept {
  const timespec timeout = ToTimespec(ns);
  return next_semtimedop.Get()(set, operations, count, ns < 0 ? nullptr : &timeout);
}

int AioSuspend(const aiocb* const list[], int count, std::int64_t ns) noexcept {
  const timespec timeout = ToTimespec(ns);
  return next_aio_suspend.Get()(list, count, ns < 0 ? nullptr : &timeout);
}

int ClockNanosleep(clockid_t id, int flags, const timespec* request, timespec* left) {
  return next_clock_nanosleep.Get()(id, flags, request, left);
}

clock_t Times(tms* out) noexcept {
  const long result = core::RawSyscall(SYS_times, reinterpret_cast<long>(out));
  return static_cast<clock_t>(result);
}

int TimerfdCreate(int id, int flags) noexcept { return next_timerfd_create.Get()(id, flags); }

int TimerfdGettime(int fd, itimerspec* out) noexcept { return next_timerfd_gettime.Get()(fd, out); }

int TimerCreate(clockid_t id, sigevent* event, timer_t* timer) noexcept {
  return next_timer_create.Get()(id, event, timer);
}

int TimerDelete(timer_t timer) noexcept { return next_timer_delete.Get()(timer); }

int TimerSettime(timer_t timer, int flags, const itimerspec* value, itimerspec* old) noexcept {
  return next_timer_settime.Get()(timer, flags, value, old);
}

int TimerGettime(timer_t timer, itimerspec* out) noexcept {
  return next_timer_gettime.Get()(timer, out);
}

int Setitimer(int which, const itimerval* value, itimerval* old) noexcept {
  return next_setitimer.Get()(which, value, old);
}

int Getitimer(int which, itimerval* out) noexcept { return next_getitimer.Get()(which, out); }

int TimerfdSettime(int fd, int flags, const itimerspec* value, itimerspec* old) noexcept {
  return next_timerfd.Get()(fd, flags, value, old);
}

}  // namespace eidolon::shim::time::real
