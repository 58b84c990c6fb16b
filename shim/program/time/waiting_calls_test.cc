// Every waiting call of libc and Linux in a driver of a rank, host model fixed: a hundred seconds
// pass at once in virtual time, and the result is libc's. One row for each call; the table that
// programs' authors read is docs/waiting_calls.md.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/program/time/test_world.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLong = 100 * kSecond;

// GoogleTest reads the clock before any test runs, and what a process belongs to is decided then.
core::FakeAgent& StartInOurTimes() {
  core::FakeAgent& agent = core::FakeAgent::Start();
  agent.page().epoch_unix_ns = 1'800'000'000'000'000'000;
  return agent;
}
core::FakeAgent& fake_agent = StartInOurTimes();

timespec In(clockid_t id, std::int64_t ns) { return ToTimespec(ReadNs(id) + ns); }

int ErrnoOf(long result) { return result < 0 ? errno : 0; }

// What a call waits for and never gets. Made for each call anew.
struct Things {
  Things() {
    EXPECT_EQ(pipe(ends), 0);
    sem_init(&semaphore, 0, 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    pthread_mutex_lock(&locked);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
  }
  ~Things() {
    for (const int fd : {ends[0], ends[1], epoll}) close(fd);
  }
  pollfd Polled() const { return {.fd = ends[0], .events = POLLIN, .revents = 0}; }

  int ends[2]{};
  int epoll = -1;
  sem_t semaphore{};
  sigset_t signals{};
  pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  std::uint32_t word = 7;
};

struct Row {
  std::string name;
  int expected;  // The error number, 0 for none.
  std::function<int(Things&, std::int64_t ns)> call;
};

// A condition's wait may return without cause.
template <typename Wait>
int UntilTimeout(Things& things, const Wait& wait) {
  pthread_mutex_lock(&things.mutex);
  int result = 0;
  while (result == 0) result = wait();
  pthread_mutex_unlock(&things.mutex);
  return result;
}

std::vector<Row> Sleeps() {
  return {
      {"sleep", 0, [](Things&, std::int64_t ns) { return static_cast<int>(sleep(ns / kSecond)); }},
      {"usleep", 0,
       [](Things&, std::int64_t ns) {
         return ErrnoOf(usleep(static_cast<useconds_t>(ns / 1000)));
       }},
      {"nanosleep", 0,
       [](Things&, std::int64_t ns) {
         const timespec request = ToTimespec(ns);
         return ErrnoOf(nanosleep(&request, nullptr));
       }},
      {"clock_nanosleep", 0,
       [](Things&, std::int64_t ns) {
         const timespec until = In(CLOCK_REALTIME, ns);
         return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr);
       }},
      {"thrd_sleep", 0,
       [](Things&, std::int64_t ns) {
         const timespec request = ToTimespec(ns);
         return thrd_sleep(&request, nullptr);
       }},
      {"syscall nanosleep", 0,
       [](Things&, std::int64_t ns) {
         const timespec request = ToTimespec(ns);
         return ErrnoOf(syscall(SYS_nanosleep, &request, nullptr));
       }},
      {"syscall clock_nanosleep", 0,
       [](Things&, std::int64_t ns) {
         const timespec until = In(CLOCK_MONOTONIC, ns);
         return ErrnoOf(
             syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr));
       }},
  };
}

std::vector<Row> Polls() {
  return {
      {"poll", 0,
       [](Things& t, std::int64_t ns) {
         pollfd one = t.Polled();
         return poll(&one, 1, static_cast<int>(ns / 1'000'000));
       }},
      {"ppoll", 0,
       [](Things& t, std::int64_t ns) {
         pollfd one = t.Polled();
         const timespec timeout = ToTimespec(ns);
         return ppoll(&one, 1, &timeout, nullptr);
       }},
      {"select", 0,
       [](Things& t, std::int64_t ns) {
         fd_set set;
         FD_ZERO(&set);
         FD_SET(t.ends[0], &set);
         timeval timeout{.tv_sec = ns / kSecond, .tv_usec = 0};
         const int result = select(t.ends[0] + 1, &set, nullptr, nullptr, &timeout);
         EXPECT_EQ(timeout.tv_sec, 0) << "Linux writes back what is left";
         return result;
       }},
      {"pselect", 0,
       [](Things& t, std::int64_t ns) {
         fd_set set;
         FD_ZERO(&set);
         FD_SET(t.ends[0], &set);
         const timespec timeout = ToTimespec(ns);
         return pselect(t.ends[0] + 1, &set, nullptr, nullptr, &timeout, nullptr);
       }},
      {"epoll_wait", 0,
       [](Things& t, std::int64_t ns) {
         epoll_event event{};
         return epoll_wait(t.epoll, &event, 1, static_cast<int>(ns / 1'000'000));
       }},
      {"epoll_pwait", 0,
       [](Things& t, std::int64_t ns) {
         epoll_event event{};
         return epoll_pwait(t.epoll, &event, 1, static_cast<int>(ns / 1'000'000), nullptr);
       }},
      {"epoll_pwait2", 0,
       [](Things& t, std::int64_t ns) {
         epoll_event event{};
         const timespec timeout = ToTimespec(ns);
         return epoll_pwait2(t.epoll, &event, 1, &timeout, nullptr);
       }},
      {"syscall ppoll", 0,
       [](Things& t, std::int64_t ns) {
         pollfd one = t.Polled();
         const timespec timeout = ToTimespec(ns);
         return static_cast<int>(syscall(SYS_ppoll, &one, 1, &timeout, nullptr, 8));
       }},
  };
}

std::vector<Row> Locks() {
  return {
      {"pthread_cond_timedwait", ETIMEDOUT,
       [](Things& t, std::int64_t ns) {
         const timespec until = In(CLOCK_REALTIME, ns);
         return UntilTimeout(
             t, [&] { return pthread_cond_timedwait(&t.condition, &t.mutex, &until); });
       }},
      {"pthread_cond_clockwait", ETIMEDOUT,
       [](Things& t, std::int64_t ns) {
         const timespec until = In(CLOCK_MONOTONIC, ns);
         return UntilTimeout(t, [&] {
           return pthread_cond_clockwait(&t.condition, &t.mutex, CLOCK_MONOTONIC, &until);
         });
       }},
      {"cnd_timedwait", thrd_timedout,
       [](Things& t, std::int64_t ns) {
         const timespec until = In(CLOCK_REALTIME, ns);
         return UntilTimeout(t, [&] {
           return cnd_timedwait(reinterpret_cast<cnd_t*>(&t.condition),
                                reinterpret_cast<mtx_t*>(&t.mutex), &until);
         });
       }},
      {"pthread_mutex_timedlock", ETIMEDOUT,
       [](Things& t, std::int64_t ns) {
         const timespec until = In(CLOCK_REALTIME, ns);
         return pthread_mutex_timedlock(&t.locked, &until);
       }},
      {"pthread_mutex_clocklock", ETIMEDOUT,
       [](Things& t, std::int64_t ns) {
         const timespec until = In(CLOCK_MONOTONIC, ns);
         return pthread_mutex_clocklock(&t.locked, CLOCK_MONOTONIC, &until);
       }},
      {"mtx_timedlock", thrd_timedout,
       [](Things& t, std::int64_t ns) {
         const timespec until = In(CLOCK_REALTIME, ns);
         return mtx_timedlock(reinterpret_cast<mtx_t*>(&t.locked), &until);
       }},
      {"sem_timedwait", ETIMEDOUT,
       [](Things& t, std::int64_t ns) {
         const timespec until = In(CLOCK_REALTIME, ns);
         return ErrnoOf(sem_timedwait(&t.semaphore, &until));
       }},
      {"sem_clockwait", ETIMEDOUT,
       [](Things& t, std::int64_t ns) {
         const timespec until = In(CLOCK_MONOTONIC, ns);
         return ErrnoOf(sem_clockwait(&t.semaphore, CLOCK_MONOTONIC, &until));
       }},
      {"syscall futex", ETIMEDOUT,
       [](Things& t, std::int64_t ns) {
         const timespec timeout = ToTimespec(ns);
         return ErrnoOf(syscall(SYS_futex, &t.word, FUTEX_WAIT, 7, &timeout, nullptr, 0));
       }},
  };
}

// A thread that holds the lock for writing, or is there to be joined, until it is let go.
class Other {
 public:
  explicit Other(pthread_rwlock_t* lock) : lock_(lock) {
    pthread_create(&thread_, nullptr, Run, this);
    while (!ready_) core::RealSleep(1'000'000);
  }
  ~Other() {
    done_ = true;
    pthread_join(thread_, nullptr);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  pthread_t thread() const { return thread_; }

 private:
  static void* Run(void* self) {
    auto& other = *static_cast<Other*>(self);
    if (other.lock_ != nullptr) pthread_rwlock_wrlock(other.lock_);
    other.ready_ = true;
    while (!other.done_) core::RealSleep(1'000'000);
    if (other.lock_ != nullptr) pthread_rwlock_unlock(other.lock_);
    return nullptr;
  }

  pthread_rwlock_t* lock_;
  pthread_t thread_{};
  std::atomic<bool> ready_ = false, done_ = false;
};

using RwlockWait = int (*)(pthread_rwlock_t*, const timespec*);
using RwlockClockWait = int (*)(pthread_rwlock_t*, clockid_t, const timespec*);

int WaitForRwlock(RwlockWait wait, std::int64_t ns) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const Other other(&lock);
  const timespec until = In(CLOCK_REALTIME, ns);
  return wait(&lock, &until);
}

int WaitForRwlock(RwlockClockWait wait, std::int64_t ns) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const Other other(&lock);
  const timespec until = In(CLOCK_MONOTONIC, ns);
  return wait(&lock, CLOCK_MONOTONIC, &until);
}

std::vector<Row> Threads() {
  return {
      {"pthread_rwlock_timedrdlock", ETIMEDOUT,
       [](Things&, std::int64_t ns) { return WaitForRwlock(pthread_rwlock_timedrdlock, ns); }},
      {"pthread_rwlock_timedwrlock", ETIMEDOUT,
       [](Things&, std::int64_t ns) { return WaitForRwlock(pthread_rwlock_timedwrlock, ns); }},
      {"pthread_rwlock_clockrdlock", ETIMEDOUT,
       [](Things&, std::int64_t ns) { return WaitForRwlock(pthread_rwlock_clockrdlock, ns); }},
      {"pthread_rwlock_clockwrlock", ETIMEDOUT,
       [](Things&, std::int64_t ns) { return WaitForRwlock(pthread_rwlock_clockwrlock, ns); }},
      {"pthread_timedjoin_np", ETIMEDOUT,
       [](Things&, std::int64_t ns) {
         const Other other(nullptr);
         const timespec until = In(CLOCK_REALTIME, ns);
         return pthread_timedjoin_np(other.thread(), nullptr, &until);
       }},
      {"pthread_clockjoin_np", ETIMEDOUT,
       [](Things&, std::int64_t ns) {
         const Other other(nullptr);
         const timespec until = In(CLOCK_MONOTONIC, ns);
         return pthread_clockjoin_np(other.thread(), nullptr, CLOCK_MONOTONIC, &until);
       }},
  };
}

int WaitForQueue(std::int64_t ns, bool receive) {
  const std::string name = "/eidolon_waiting_" + std::to_string(getpid());
  mq_attr attributes{};
  attributes.mq_maxmsg = 1;
  attributes.mq_msgsize = 8;
  const mqd_t queue = mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, &attributes);
  if (queue < 0) return ETIMEDOUT;  // No message queues on this system.
  mq_unlink(name.c_str());
  char message[8] = "full";
  unsigned priority = 0;
  if (!receive) mq_send(queue, message, sizeof(message), 0);
  const timespec until = In(CLOCK_REALTIME, ns);
  const int result =
      receive ? ErrnoOf(mq_timedreceive(queue, message, sizeof(message), &priority, &until))
              : ErrnoOf(mq_timedsend(queue, message, sizeof(message), 0, &until));
  mq_close(queue);
  return result;
}

std::vector<Row> Messages() {
  return {
      {"sigtimedwait", EAGAIN,
       [](Things& t, std::int64_t ns) {
         const timespec timeout = ToTimespec(ns);
         return ErrnoOf(sigtimedwait(&t.signals, nullptr, &timeout));
       }},
      {"semtimedop", EAGAIN,
       [](Things&, std::int64_t ns) {
         const int set = semget(IPC_PRIVATE, 1, 0600);
         sembuf take{.sem_num = 0, .sem_op = -1, .sem_flg = 0};
         const timespec timeout = ToTimespec(ns);
         const int result = ErrnoOf(semtimedop(set, &take, 1, &timeout));
         semctl(set, 0, IPC_RMID);
         return result;
       }},
      {"mq_timedreceive", ETIMEDOUT,
       [](Things&, std::int64_t ns) { return WaitForQueue(ns, true); }},
      {"mq_timedsend", ETIMEDOUT, [](Things&, std::int64_t ns) { return WaitForQueue(ns, false); }},
      {"aio_suspend", EAGAIN,
       [](Things& t, std::int64_t ns) {
         char byte = 0;
         aiocb reading{};
         reading.aio_fildes = t.ends[0];
         reading.aio_buf = &byte;
         reading.aio_nbytes = 1;
         EXPECT_EQ(aio_read(&reading), 0);
         const aiocb* const list[] = {&reading};
         const timespec timeout = ToTimespec(ns);
         const int result = ErrnoOf(aio_suspend(list, 1, &timeout));
         EXPECT_EQ(write(t.ends[1], "x", 1), 1);
         aio_suspend(list, 1, nullptr);
         return result;
       }},
  };
}

std::vector<Row> AllRows() {
  std::vector<Row> rows;
  for (const auto& part : {Sleeps(), Polls(), Locks(), Threads(), Messages()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

class WaitingCallsTest : public testing::TestWithParam<Row> {
 protected:
  WaitingCallsTest() {
    StartRank(fake_agent);
    fake_agent.LetVirtualSleepsPass(true);
  }
  ~WaitingCallsTest() override { fake_agent.LetVirtualSleepsPass(false); }
};

TEST_P(WaitingCallsTest, AHundredSecondsOfADriverPassAtOnce) {
  Things things;
  const std::int64_t before = ReadNs(CLOCK_MONOTONIC);
  RealTimer timer;

  const int result = GetParam().call(things, kLong);

  const std::int64_t passed = ReadNs(CLOCK_MONOTONIC) - before;
  EXPECT_EQ(result, GetParam().expected);
  EXPECT_GE(passed, kLong);
  EXPECT_LT(passed, kLong + kSecond);
  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_P(WaitingCallsTest, WhatLastsNoTimeEndsAtOnce) {
  Things things;
  const std::int64_t before = ReadNs(CLOCK_MONOTONIC);

  const int result = GetParam().call(things, 0);

  EXPECT_EQ(result, GetParam().expected);
  EXPECT_LT(ReadNs(CLOCK_MONOTONIC) - before, kSecond);
}

INSTANTIATE_TEST_SUITE_P(Calls, WaitingCallsTest, testing::ValuesIn(AllRows()),
                         [](const testing::TestParamInfo<Row>& row) {
                           std::string name = row.param.name;
                           for (char& c : name) c = c == ' ' || c == '_' ? 'X' : c;
                           return name;
                         });

}  // namespace
}  // namespace eidolon::shim::time
