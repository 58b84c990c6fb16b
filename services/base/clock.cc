#include "services/base/clock.h"

#include <ctime>

namespace eidolon::base {
namespace {

std::int64_t Read(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::int64_t SystemClock::MonotonicNs() const { return Read(CLOCK_MONOTONIC); }
std::int64_t SystemClock::UnixNs() const { return Read(CLOCK_REALTIME); }

std::int64_t ThreadCpuNs() { return Read(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace eidolon::base
