// Exports: timers. In a rank that has begun they count virtual time (virtual_timers.h); anywhere
// else they are the kernel's, and what a rank has started may see them expire sooner, together with
// the sleeps around them (moment_keeper.h).
#include <errno.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "shim/core/thread_role.h"
#include "shim/program/time/export.h"
#include "shim/program/time/moment_keeper.h"
#include "shim/program/time/real.h"
#include "shim/program/time/virtual_clock.h"
#include "shim/program/time/virtual_timers.h"

namespace time_ = eidolon::shim::time;
namespace real = time_::real;
using eidolon::base::Duration;
using eidolon::base::SimTime;
using time_::TimerKind;
using time_::TimerName;

namespace {

constexpr TimerName kIntervalTimer{.kind = TimerKind::kInterval, .id = 0};

TimerName NameOf(timer_t timer) {
  return {.kind = TimerKind::kPosix, .id = reinterpret_cast<std::uintptr_t>(timer)};
}

TimerName NameOf(int fd) {
  return {.kind = TimerKind::kDescriptor, .id = static_cast<std::uintptr_t>(fd)};
}

// Timers of processor time, which stays the kernel's. More of them than fit count virtual time.
class ProcessorTimers {
 public:
  void Note(timer_t timer) noexcept {
    for (auto& entry : entries_) {
      timer_t none = nullptr;
      if (entry.compare_exchange_strong(none, Key(timer))) return;
    }
  }
  void Forget(timer_t timer) noexcept {
    for (auto& entry : entries_) {
      timer_t known = Key(timer);
      entry.compare_exchange_strong(known, nullptr);
    }
  }
  bool Has(timer_t timer) const noexcept {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const auto& entry) { return entry.load() == Key(timer); });
  }

 private:
  // The kernel's first timer is 0.
  static timer_t Key(timer_t timer) noexcept {
    return reinterpret_cast<timer_t>(reinterpret_cast<std::uintptr_t>(timer) + 1);
  }

  std::array<std::atomic<timer_t>, 64> entries_{};
};
constinit ProcessorTimers processor_timers;

bool CountsVirtually() noexcept {
  using eidolon::shim::core::CurrentRole;
  using eidolon::shim::core::ThreadRole;
  return time_::InJob() && time_::HasBegun() && CurrentRole() != ThreadRole::kWatchdog;
}

bool IsZero(const timespec& t) { return t.tv_sec == 0 && t.tv_nsec == 0; }

// Durations of picoseconds; what does not fit is longer than time.
Duration Span(const timespec& t) {
  return {std::min<std::int64_t>(time_::ToNs(t), SimTime::Max().ps / 1000) * 1000};
}

itimerspec RestOf(TimerName name) {
  const auto rest = time_::ReadTimer(name);
  if (!rest) return {};
  return {.it_interval = time_::ToTimespec(rest->interval.ps / 1000),
          .it_value = time_::ToTimespec(rest->left.ps / 1000)};
}

timespec ToTimespec(const timeval& t) { return {.tv_sec = t.tv_sec, .tv_nsec = t.tv_usec * 1000}; }

timeval ToTimeval(const timespec& t) { return {.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000}; }

itimerval ToItimerval(const itimerspec& t) {
  return {.it_interval = ToTimeval(t.it_interval), .it_value = ToTimeval(t.it_value)};
}

bool IsValid(const timeval& t) { return t.tv_sec >= 0 && t.tv_usec >= 0 && t.tv_usec < 1'000'000; }

// Counts `value` in virtual time. The kernel's timer stands still, as the caller has seen to.
bool Arm(TimerName name, SimTime deadline, const timespec& interval) {
  if (!time_::ArmTimer(name, {.deadline = deadline, .interval = Span(interval)})) return false;
  time_::KeepTimers();
  return true;
}

SimTime DeadlineOf(const timespec& value, bool absolute) {
  const std::int64_t ns = time_::ToNs(value);
  return absolute ? time_::TimeOfReading(time_::GuessClock(ns), ns)
                  : time_::TimeAfter(time_::ProgramTime(), ns);
}

// A reading of a virtual clock in a process whose timers are the kernel's: as much real time as is
// left of it.
itimerspec Relative(const itimerspec& value) {
  itimerspec relative = value;
  const std::int64_t reading = time_::ToNs(value.it_value);
  const clockid_t id = time_::GuessClock(reading);
  const std::int64_t left = reading - time_::ReadingNs(id, time_::ReadByProgram());
  if (reading != 0) relative.it_value = time_::ToTimespec(std::max<std::int64_t>(left, 1));
  return relative;
}

// timer_settime and timerfd_settime: `set(flags, value, old)` and `get(out)` are the kernel's.
template <typename Set, typename Get>
int Settime(TimerName name, int flags, int absolute_flag, const itimerspec* value, itimerspec* old,
            const Set& set, const Get& get) {
  if (!time_::InJob() || value == nullptr) return set(flags, value, old);
  const bool absolute = (flags & absolute_flag) != 0;
  itimerspec before = RestOf(name);
  if (IsZero(before.it_value)) get(&before);
  const bool is_virtual = CountsVirtually() && !IsZero(value->it_value) &&
                          time_::IsValid(value->it_value) && time_::IsValid(value->it_interval);
  const itimerspec relative = absolute ? Relative(*value) : *value;
  const itimerspec still{};
  // The kernel says what is wrong with the call, if anything.
  const int kernel_flags = absolute ? flags & ~absolute_flag : flags;
  const int result = set(kernel_flags, is_virtual ? &still : &relative, nullptr);
  if (result != 0) return result;
  if (old != nullptr) *old = before;
  time_::DisarmTimer(name);
  time_::ForgetRealTimer(name);
  if (!is_virtual) {
    if (IsZero(relative.it_interval)) time_::KeepRealTimer(name, time_::ToNs(relative.it_value));
    return 0;
  }
  const SimTime deadline = DeadlineOf(value->it_value, absolute);
  return Arm(name, deadline, value->it_interval) ? 0 : set(kernel_flags, &relative, nullptr);
}

}  // namespace

EIDOLON_TIME_EXPORT int setitimer(__itimer_which_t which, const itimerval* value,
                                  itimerval* old) noexcept {
  if (!time_::InJob() || which != ITIMER_REAL || value == nullptr || !IsValid(value->it_value) ||
      !IsValid(value->it_interval)) {
    return real::Setitimer(which, value, old);
  }
  const itimerspec wanted{.it_interval = ToTimespec(value->it_interval),
                          .it_value = ToTimespec(value->it_value)};
  itimerspec before{};
  const int result = Settime(
      kIntervalTimer, 0, 0, &wanted, &before,
      [](int, const itimerspec* set, itimerspec*) {
        const itimerval converted = ToItimerval(*set);
        return real::Setitimer(ITIMER_REAL, &converted, nullptr);
      },
      [](itimerspec* out) {
        itimerval rest{};
        const int got = real::Getitimer(ITIMER_REAL, &rest);
        *out = {.it_interval = ToTimespec(rest.it_interval), .it_value = ToTimespec(rest.it_value)};
        return got;
      });
  if (result == 0 && old != nullptr) *old = ToItimerval(before);
  return result;
}

EIDOLON_TIME_EXPORT int getitimer(__itimer_which_t which, itimerval* out) noexcept {
  if (which == ITIMER_REAL && time_::InJob() && time_::ReadTimer(kIntervalTimer)) {
    *out = ToItimerval(RestOf(kIntervalTimer));
    return 0;
  }
  return real::Getitimer(which, out);
}

EIDOLON_TIME_EXPORT unsigned alarm(unsigned seconds) noexcept {
  const itimerval wanted{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  itimerval old{};
  if (setitimer(ITIMER_REAL, &wanted, &old) != 0) return 0;
  const timeval& left = old.it_value;
  // The rest is rounded as in Linux: to the nearest second, but not to none.
  const bool up = left.tv_usec >= 500'000 || (left.tv_sec == 0 && left.tv_usec > 0);
  return static_cast<unsigned>(left.tv_sec + (up ? 1 : 0));
}

EIDOLON_TIME_EXPORT useconds_t ualarm(useconds_t value, useconds_t interval) noexcept {
  const auto split = [](useconds_t us) {
    return timeval{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  };
  const itimerval wanted{.it_interval = split(interval), .it_value = split(value)};
  itimerval old{};
  if (setitimer(ITIMER_REAL, &wanted, &old) != 0) return static_cast<useconds_t>(-1);
  return static_cast<useconds_t>(old.it_value.tv_sec * 1'000'000 + old.it_value.tv_usec);
}

EIDOLON_TIME_EXPORT int timer_create(clockid_t id, sigevent* event, timer_t* timer) noexcept {
  const int result = real::TimerCreate(id, event, timer);
  if (result != 0 || !time_::InJob()) return result;
  const bool is_processors =
      id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID || id < 0;
  if (is_processors) processor_timers.Note(*timer);
  return 0;
}

EIDOLON_TIME_EXPORT int timer_delete(timer_t timer) noexcept {
  processor_timers.Forget(timer);
  time_::DisarmTimer(NameOf(timer));
  time_::ForgetRealTimer(NameOf(timer));
  return real::TimerDelete(timer);
}

EIDOLON_TIME_EXPORT int timer_settime(timer_t timer, int flags, const itimerspec* value,
                                      itimerspec* old) noexcept {
  if (processor_timers.Has(timer)) return real::TimerSettime(timer, flags, value, old);
  return Settime(
      NameOf(timer), flags, TIMER_ABSTIME, value, old,
      [timer](int how, const itimerspec* set, itimerspec* before) {
        return real::TimerSettime(timer, how, set, before);
      },
      [timer](itimerspec* out) { return real::TimerGettime(timer, out); });
}

EIDOLON_TIME_EXPORT int timer_gettime(timer_t timer, itimerspec* out) noexcept {
  if (!time_::InJob() || !time_::ReadTimer(NameOf(timer))) return real::TimerGettime(timer, out);
  *out = RestOf(NameOf(timer));
  return 0;
}

EIDOLON_TIME_EXPORT int timerfd_settime(int fd, int flags, const itimerspec* value,
                                        itimerspec* old) noexcept {
  return Settime(
      NameOf(fd), flags, TFD_TIMER_ABSTIME, value, old,
      [fd](int how, const itimerspec* set, itimerspec* before) {
        return real::TimerfdSettime(fd, how, set, before);
      },
      [fd](itimerspec* out) { return real::TimerfdGettime(fd, out); });
}

EIDOLON_TIME_EXPORT int timerfd_gettime(int fd, itimerspec* out) noexcept {
  if (!time_::InJob() || !time_::ReadTimer(NameOf(fd))) return real::TimerfdGettime(fd, out);
  *out = RestOf(NameOf(fd));
  return 0;
}

// A new descriptor may have the number of one that was closed with its timer armed.
EIDOLON_TIME_EXPORT int timerfd_create(int id, int flags) noexcept {
  const int fd = real::TimerfdCreate(id, flags);
  if (fd < 0 || !time_::InJob()) return fd;
  time_::DisarmTimer(NameOf(fd));
  time_::ForgetRealTimer(NameOf(fd));
  return fd;
}
