// The operating system's own time functions, past our exports of the same names. Resolved on first
// use, so that a process that never asks for the time does nothing extra.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

#include <cstdint>

namespace eidolon::shim::time::real {

int ClockGettime(clockid_t id, timespec* out) noexcept;
std::int64_t MonotonicNs() noexcept;
clock_t Clock() noexcept;
// Sleeps on the monotonic clock; returns 0 or EINTR, with what is left in `left_ns`.
int Sleep(std::int64_t ns, std::int64_t* left_ns) noexcept;

// Waits of at most `ns` real nanoseconds; results as the POSIX functions' own.
int CondWait(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t ns) noexcept;
int SemaphoreWait(sem_t* semaphore, std::int64_t ns) noexcept;  // 0 or -1 with errno
int MutexLock(pthread_mutex_t* mutex, std::int64_t ns) noexcept;
int Poll(pollfd* fds, nfds_t count, std::int64_t ns, const sigset_t* mask) noexcept;
int Select(int count, fd_set* read, fd_set* write, fd_set* except, std::int64_t ns,
           const sigset_t* mask) noexcept;
int EpollWait(int epoll, epoll_event* events, int capacity, std::int64_t ns,
              const sigset_t* mask) noexcept;

int SetThreadName(pthread_t thread, const char* name) noexcept;
int TimerfdSettime(int fd, int flags, const itimerspec* value, itimerspec* old) noexcept;

}  // namespace eidolon::shim::time::real
