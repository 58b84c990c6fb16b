// Exports: reading clocks and sleeping.
#include <errno.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "shim/core/file_question.h"
#include "shim/core/thread_role.h"
#include "shim/program/time/export.h"
#include "shim/program/time/real.h"
#include "shim/program/time/sleep.h"
#include "shim/program/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t Now(clockid_t id) noexcept { return time_::ReadingNs(id, time_::ReadByProgram()); }

bool IsWallClock(clockid_t id) {
  return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI;
}

// A reading of the wall clock, later than the thread's last one if it asked about a file in between
// (core/file_question.h). Neither the clock itself nor any wait is later.
std::int64_t AfterFileQuestion(std::int64_t ns) noexcept {
  constexpr std::int64_t kStepNs = 1000;
  std::int64_t& last_ns = time_::LastWallReadingNs();
  const bool asked = time_::InJob() && eidolon::shim::core::TakeFileQuestion();
  const std::int64_t earliest = asked ? last_ns + kStepNs : last_ns;
  // Much earlier than the last: a fork, or a test.
  const bool was_set_back = last_ns - ns >= kNsPerSecond;
  return last_ns = was_set_back ? ns : std::max(ns, earliest);
}

// `t` less what has passed of it.
timespec Less(const timespec& t, std::int64_t ns) {
  timespec left{.tv_sec = t.tv_sec - ns / kNsPerSecond, .tv_nsec = t.tv_nsec - ns % kNsPerSecond};
  if (left.tv_nsec < 0) {
    --left.tv_sec;
    left.tv_nsec += kNsPerSecond;
  }
  return left.tv_sec < 0 ? timespec{} : left;
}

// 0 or an error number. Requires: InJob().
int Nanosleep(const timespec& request, timespec* left) noexcept {
  if (!time_::IsValid(request)) return EINVAL;
  std::int64_t slept_ns = 0;
  const int result = time_::SleepFor(time_::ToNs(request), &slept_ns);
  if (result == EINTR && left != nullptr) *left = Less(request, slept_ns);
  return result;
}

int NanosleepUntil(clockid_t id, const timespec& reading) noexcept {
  if (!time_::IsValid(reading)) return EINVAL;
  const std::int64_t ns = time_::ToNs(reading) - Now(id);
  if (ns <= 0) return 0;
  std::int64_t unused = 0;
  return time_::SleepFor(ns, &unused);
}

// Clocks that a thread can sleep on and that are virtual here. clock_gettime knows more.
bool SleepsVirtually(clockid_t id) noexcept {
  const bool can =
      id == CLOCK_REALTIME || id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME || id == CLOCK_TAI;
  return can && time_::InJob();
}

}  // namespace

EIDOLON_TIME_EXPORT int clock_gettime(clockid_t id, timespec* out) noexcept {
  if (!time_::IsVirtual(id)) return time_::real::ClockGettime(id, out);
  const std::int64_t ns = Now(id);
  *out = time_::ToTimespec(IsWallClock(id) ? AfterFileQuestion(ns) : ns);
  return 0;
}

EIDOLON_TIME_EXPORT int gettimeofday(timeval* out, void* zone) noexcept {
  if (zone != nullptr) *static_cast<struct timezone*>(zone) = {};
  if (out == nullptr) return 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *out = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

EIDOLON_TIME_EXPORT time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

EIDOLON_TIME_EXPORT int ftime(timeb* out) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *out = {.time = now.tv_sec,
          .millitm = static_cast<unsigned short>(now.tv_nsec / 1'000'000),
          .timezone = 0,
          .dstflag = 0};
  return 0;
}

EIDOLON_TIME_EXPORT int timespec_get(timespec* out, int base) noexcept {
  if (base != TIME_UTC) return 0;
  return clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0;
}

EIDOLON_TIME_EXPORT clock_t clock() noexcept {
  if (!time_::IsVirtual(CLOCK_PROCESS_CPUTIME_ID)) return time_::real::Clock();
  return Now(CLOCK_PROCESS_CPUTIME_ID) / (kNsPerSecond / CLOCKS_PER_SEC);
}

// What it returns is time since boot; what it writes is processor time, which stays the kernel's.
EIDOLON_TIME_EXPORT clock_t times(tms* out) noexcept {
  const clock_t result = time_::real::Times(out);
  if (!time_::InJob() || result == static_cast<clock_t>(-1)) return result;
  return Now(CLOCK_BOOTTIME) / (kNsPerSecond / sysconf(_SC_CLK_TCK));
}

EIDOLON_TIME_EXPORT int clock_nanosleep(clockid_t id, int flags, const timespec* request,
                                        timespec* left) {
  if (!SleepsVirtually(id)) return time_::real::ClockNanosleep(id, flags, request, left);
  if ((flags & TIMER_ABSTIME) != 0) return NanosleepUntil(id, *request);
  return Nanosleep(*request, left);
}

EIDOLON_TIME_EXPORT int nanosleep(const timespec* request, timespec* left) {
  // The kernel measures it on the monotonic clock.
  const int result = clock_nanosleep(CLOCK_MONOTONIC, 0, request, left);
  if (result == 0) return 0;
  errno = result;
  return -1;
}

EIDOLON_TIME_EXPORT int usleep(useconds_t microseconds) {
  const timespec request = time_::ToTimespec(std::int64_t{microseconds} * 1000);
  return nanosleep(&request, nullptr);
}

EIDOLON_TIME_EXPORT unsigned sleep(unsigned seconds) {
  const timespec request{.tv_sec = seconds, .tv_nsec = 0};
  timespec left{};
  const int kept = errno;
  if (nanosleep(&request, &left) == 0) return 0;
  errno = kept;
  return static_cast<unsigned>(left.tv_sec);  // As glibc rounds it.
}

EIDOLON_TIME_EXPORT int thrd_sleep(const timespec* request, timespec* left) {
  const int result = clock_nanosleep(CLOCK_REALTIME, 0, request, left);
  if (result == 0) return 0;
  return result == EINTR ? -1 : -2;
}

EIDOLON_TIME_EXPORT int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  if (pthread_equal(thread, pthread_self())) eidolon::shim::core::NoteThreadName(name);
  return time_::real::SetThreadName(thread, name);
}
