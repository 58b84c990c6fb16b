// Each function is one system call by instruction: libc's own are what the shim replaces, they set
// errno, and some are not safe between fork and exec. While the program's readings of the counter
// trap, the shim's would trap too, so ReadTicks changes to the monotonic clock at the measured
// rate, from a pair of both clocks that were read together: ticks go on without a step.
// `ns_per_tick` and the pair are written before `ticks_hidden` is set (release).
#include "shim/core/system.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstring>

#include "shim/core/tick_rate.h"

namespace eidolon::shim::core {
namespace {

std::int64_t ReadClock(clockid_t id) noexcept {
  timespec now{};
  RawSyscall(SYS_clock_gettime, id, reinterpret_cast<long>(&now));
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

constexpr std::int64_t kRateNs = 500'000;  // Long enough to measure a rate.
constinit double ns_per_tick = 0;
// Both clocks when the counter was hidden.
constinit std::int64_t hidden_at_ns = 0;
constinit std::uint64_t hidden_at_ticks = 0;

timespec ToTimespec(std::int64_t ns) noexcept {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace

#if defined(__x86_64__)
long RawSyscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
long RawSyscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
}
#endif

constinit std::atomic<bool> ticks_hidden{false};

void HideTicks(bool hide) noexcept {
  if (hide == ticks_hidden.load(std::memory_order_relaxed)) return;
  if (hide) {
    if (ns_per_tick == 0) ns_per_tick = MeasurePsPerTick(kRateNs, MonotonicNs, ReadTicks) / 1000;
    const ClockPair now = ReadTogether(MonotonicNs, ReadTicks);
    hidden_at_ns = now.ns;
    hidden_at_ticks = now.ticks;
  }
  ticks_hidden.store(hide, std::memory_order_release);
}

std::uint64_t HiddenTicks() noexcept {
  const std::int64_t since = MonotonicNs() - hidden_at_ns;
  return hidden_at_ticks + static_cast<std::uint64_t>(static_cast<double>(since) / ns_per_tick);
}

void TrapTicks(bool trap) noexcept {
#if defined(__x86_64__)
  RawSyscall(SYS_prctl, PR_SET_TSC, trap ? PR_TSC_SIGSEGV : PR_TSC_ENABLE);
#else
  (void)trap;
#endif
}

std::int64_t MonotonicNs() noexcept { return ReadClock(CLOCK_MONOTONIC); }
std::int64_t ThreadCpuNs() noexcept { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t ProcessCpuNs() noexcept { return ReadClock(CLOCK_PROCESS_CPUTIME_ID); }

std::uint64_t ThreadPageFaults() noexcept {
  rusage usage{};
  RawSyscall(SYS_getrusage, RUSAGE_THREAD, reinterpret_cast<long>(&usage));
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

void FutexWait(const std::atomic<std::uint32_t>* word, std::uint32_t expected,
               std::int64_t timeout_ns) noexcept {
  const timespec limit = ToTimespec(timeout_ns < 0 ? 0 : timeout_ns);
  RawSyscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT, expected,
             timeout_ns < 0 ? 0 : reinterpret_cast<long>(&limit));
}

void FutexWake(const std::atomic<std::uint32_t>* word, int count) noexcept {
  RawSyscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE, count);
}

bool HasHungUp(int socket) noexcept {
  pollfd entry{socket, POLLIN | POLLRDHUP, 0};
  const timespec now = ToTimespec(0);
  const long ready =
      RawSyscall(SYS_ppoll, reinterpret_cast<long>(&entry), 1, reinterpret_cast<long>(&now));
  return ready > 0 && (entry.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
}

void RealSleep(std::int64_t ns) noexcept {
  const timespec span = ToTimespec(ns);
  RawSyscall(SYS_nanosleep, reinterpret_cast<long>(&span));
}

void WriteToStderr(const char* text) noexcept {
  RawSyscall(SYS_write, 2, reinterpret_cast<long>(text), static_cast<long>(std::strlen(text)));
}

}  // namespace eidolon::shim::core
