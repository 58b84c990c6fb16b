// The operating system's own time functions, past our exports of the same names. Resolved on first
// use, so that a process that never asks for the time does nothing extra.
#pragma once

#include <aio.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <time.h>

#include <cstddef>
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

// Waits without a limit.
int CondWait(pthread_cond_t* condition, pthread_mutex_t* mutex);
int SemaphoreWait(sem_t* semaphore);  // 0 or -1 with errno
int Join(pthread_t thread, void** result);

int RwlockRead(pthread_rwlock_t* lock, std::int64_t ns) noexcept;
int RwlockWrite(pthread_rwlock_t* lock, std::int64_t ns) noexcept;
int Join(pthread_t thread, void** result, std::int64_t ns) noexcept;
int SignalWait(const sigset_t* set, siginfo_t* info, std::int64_t ns) noexcept;
ssize_t QueueReceive(mqd_t queue, char* message, std::size_t bytes, unsigned* priority,
                     std::int64_t ns) noexcept;
int QueueSend(mqd_t queue, const char* message, std::size_t bytes, unsigned priority,
              std::int64_t ns) noexcept;
int SemaphoreSetWait(int set, sembuf* operations, std::size_t count, std::int64_t ns) noexcept;
int AioSuspend(const aiocb* const list[], int count, std::int64_t ns) noexcept;

// The functions themselves, for what is not ours to answer.
int ClockNanosleep(clockid_t id, int flags, const timespec* request, timespec* left);
clock_t Times(tms* out) noexcept;
int SetThreadName(pthread_t thread, const char* name) noexcept;
int Yield() noexcept;
int LockFile(int fd, int operation) noexcept;  // flock
int Sigaction(int number, const struct sigaction* wanted, struct sigaction* before) noexcept;
sighandler_t Signal(int number, sighandler_t handler) noexcept;
int TimerfdSettime(int fd, int flags, const itimerspec* value, itimerspec* old) noexcept;
int TimerfdCreate(int id, int flags) noexcept;
int TimerfdGettime(int fd, itimerspec* out) noexcept;
int TimerCreate(clockid_t id, sigevent* event, timer_t* timer) noexcept;
int TimerDelete(timer_t timer) noexcept;
int TimerSettime(timer_t timer, int flags, const itimerspec* value, itimerspec* old) noexcept;
int TimerGettime(timer_t timer, itimerspec* out) noexcept;
int Setitimer(int which, const itimerval* value, itimerval* old) noexcept;
int Getitimer(int which, itimerval* out) noexcept;

}  // namespace eidolon::shim::time::real
