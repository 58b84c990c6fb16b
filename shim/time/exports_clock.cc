// Exports: reading clocks and sleeping.
#include <errno.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "shim/core/thread_role.h"
#include "shim/time/export.h"
#include "shim/time/real.h"
#include "shim/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;
using eidolon::base::Duration;

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t Now(clockid_t id) noexcept { return time_::ReadingNs(id, time_::ReadByProgram()); }

bool IsValid(const timespec& t) {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < kNsPerSecond;
}

// Nanoseconds of a request, limited so that picoseconds fit 64 bits.
std::int64_t ToNs(const timespec& t) {
  constexpr std::int64_t kLongestSeconds = 4'000'000;
  return std::min<std::int64_t>(t.tv_sec, kLongestSeconds) * kNsPerSecond + t.tv_nsec;
}

timespec ToTimespec(std::int64_t ns) {
  return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}

// Sleeps on a virtual clock; 0 or an error number, with the rest in `left` when interrupted.
int SleepNs(std::int64_t ns, timespec* left) noexcept {
  Duration rest;
  const int result = time_::SleepFor(Duration::Nanoseconds(ns), &rest);
  if (result == EINTR && left != nullptr) *left = ToTimespec(rest.ps / 1000);
  return result;
}

int RealNanosleep(const timespec* request, timespec* left) noexcept {
  std::int64_t rest = 0;
  const int result = time_::real::Sleep(ToNs(*request), &rest);
  if (result == EINTR && left != nullptr) *left = ToTimespec(rest);
  return result;
}

int Nanosleep(const timespec* request, timespec* left) noexcept {
  if (!IsValid(*request)) return EINVAL;
  return time_::InJob() ? SleepNs(ToNs(*request), left) : RealNanosleep(request, left);
}

}  // namespace

EIDOLON_TIME_EXPORT int clock_gettime(clockid_t id, timespec* out) noexcept {
  if (!time_::IsVirtual(id)) return time_::real::ClockGettime(id, out);
  *out = ToTimespec(Now(id));
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

EIDOLON_TIME_EXPORT int timespec_get(timespec* out, int base) noexcept {
  if (base != TIME_UTC) return 0;
  return clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0;
}

EIDOLON_TIME_EXPORT clock_t clock() noexcept {
  if (!time_::IsVirtual(CLOCK_PROCESS_CPUTIME_ID)) return time_::real::Clock();
  return Now(CLOCK_PROCESS_CPUTIME_ID) / (kNsPerSecond / CLOCKS_PER_SEC);
}

EIDOLON_TIME_EXPORT int nanosleep(const timespec* request, timespec* left) {
  const int result = Nanosleep(request, left);
  if (result == 0) return 0;
  errno = result;
  return -1;
}

EIDOLON_TIME_EXPORT int clock_nanosleep(clockid_t id, int flags, const timespec* request,
                                        timespec* left) {
  if ((flags & TIMER_ABSTIME) == 0) return Nanosleep(request, left);
  if (!IsValid(*request)) return EINVAL;
  timespec now{};
  if (clock_gettime(id, &now) != 0) return EINVAL;
  const std::int64_t ns = ToNs(*request) - ToNs(now);
  if (ns <= 0) return 0;
  const timespec relative = ToTimespec(ns);
  return Nanosleep(&relative, nullptr);
}

EIDOLON_TIME_EXPORT int usleep(useconds_t microseconds) {
  const timespec request = ToTimespec(std::int64_t{microseconds} * 1000);
  return nanosleep(&request, nullptr);
}

EIDOLON_TIME_EXPORT unsigned sleep(unsigned seconds) {
  const timespec request{.tv_sec = seconds, .tv_nsec = 0};
  timespec left{};
  if (nanosleep(&request, &left) == 0) return 0;
  return static_cast<unsigned>(left.tv_sec + (left.tv_nsec > 0 ? 1 : 0));
}

EIDOLON_TIME_EXPORT int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  if (pthread_equal(thread, pthread_self())) eidolon::shim::core::NoteThreadName(name);
  return time_::real::SetThreadName(thread, name);
}

EIDOLON_TIME_EXPORT int timerfd_settime(int fd, int flags, const itimerspec* value,
                                        itimerspec* old) noexcept {
  if (!time_::InJob() || (flags & TFD_TIMER_ABSTIME) == 0 || value == nullptr) {
    return time_::real::TimerfdSettime(fd, flags, value, old);
  }
  // An absolute time of a virtual clock: the timer fires after as much real time as is left of it.
  const std::int64_t reading = ToNs(value->it_value);
  const std::int64_t left = reading - Now(time_::GuessClock(reading));
  itimerspec relative = *value;
  if (reading != 0) relative.it_value = ToTimespec(std::max<std::int64_t>(left, 1));
  return time_::real::TimerfdSettime(fd, flags & ~TFD_TIMER_ABSTIME, &relative, old);
}
