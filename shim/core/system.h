// The operating system without libc: the shim replaces libc's clock and wait functions, so its own
// clock reads and waits must not go through them.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace eidolon::shim::core {

// The kernel's answer: negative errno on failure. errno is untouched.
long RawSyscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                long f = 0) noexcept;

// Real time of this machine; for measuring and for wait limits, never shown to the program.
std::int64_t MonotonicNs() noexcept;
// CPU time of the calling thread.
std::int64_t ThreadCpuNs() noexcept;
std::int64_t ProcessCpuNs() noexcept;  // Of all its threads.
// Page faults of the calling thread so far that needed no reading from a disk.
std::uint64_t ThreadPageFaults() noexcept;

// Sleeps while *word == expected, at most timeout_ns (negative: for ever). May wake early.
void FutexWait(const std::atomic<std::uint32_t>* word, std::uint32_t expected,
               std::int64_t timeout_ns) noexcept;
void FutexWake(const std::atomic<std::uint32_t>* word, int count) noexcept;

// True when the other side of the socket is gone.
bool HasHungUp(int socket) noexcept;

// Sleeps in real time.
void RealSleep(std::int64_t ns) noexcept;

// Writes a line to standard error, in one call, without buffers.
void WriteToStderr(const char* text) noexcept;

// While the program's readings of the counter are answered by us (shim/program/time/tick_clock.h),
// it is hidden from the shim too: ReadTicks then comes from the monotonic clock, at the same rate.
extern std::atomic<bool> ticks_hidden;
void HideTicks(bool hide) noexcept;
std::uint64_t HiddenTicks() noexcept;
// Sets whether the calling thread's readings trap (PR_SET_TSC). New threads and programs inherit
// it.
void TrapTicks(bool trap) noexcept;

// A counter that runs at a constant rate, about the CPU's.
inline std::uint64_t ReadTicks() noexcept {
  if (ticks_hidden.load(std::memory_order_relaxed)) [[unlikely]]
    return HiddenTicks();
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "unsupported architecture"
#endif
}

inline void SpinPause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#else
  asm volatile("yield");
#endif
}

}  // namespace eidolon::shim::core
