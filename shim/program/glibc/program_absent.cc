// Provides what the commands and their static libraries take from a glibc that is younger than the
// one the wheel promises to run on; used beside absent.cc, which is linked too.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <ctime>
#include <iterator>

#define EIDOLON_HIDDEN __attribute__((visibility("hidden")))

namespace {

constexpr long kNanoseconds = 1'000'000'000;

int StatAt(const char* path, void* out, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, out, flags));
}

}  // namespace

extern "C" {

// glibc 2.33; inline before.
EIDOLON_HIDDEN int stat(const char* path, struct stat* out) noexcept {
  return StatAt(path, out, 0);
}

EIDOLON_HIDDEN int lstat(const char* path, struct stat* out) noexcept {
  return StatAt(path, out, AT_SYMLINK_NOFOLLOW);
}

static_assert(sizeof(struct stat) == sizeof(struct stat64));
EIDOLON_HIDDEN int stat64(const char* path, struct stat64* out) noexcept {
  return StatAt(path, out, 0);
}

EIDOLON_HIDDEN int lstat64(const char* path, struct stat64* out) noexcept {
  return StatAt(path, out, AT_SYMLINK_NOFOLLOW);
}

// glibc 2.30. As libstdc++ waits without it: the time that is left, on the clock that the condition
// has.
EIDOLON_HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          clockid_t clock, const timespec* until) {
  timespec now = {};
  timespec end = *until;
  if (clock != CLOCK_REALTIME) {
    clock_gettime(clock, &now);
    long seconds = until->tv_sec - now.tv_sec;
    long nanoseconds = until->tv_nsec - now.tv_nsec;
    clock_gettime(CLOCK_REALTIME, &end);
    seconds += end.tv_sec;
    nanoseconds += end.tv_nsec;
    if (nanoseconds < 0) {
      --seconds;
      nanoseconds += kNanoseconds;
    } else if (nanoseconds >= kNanoseconds) {
      ++seconds;
      nanoseconds -= kNanoseconds;
    }
    end = {.tv_sec = seconds, .tv_nsec = nanoseconds};
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

// glibc 2.32.
EIDOLON_HIDDEN const char* sigabbrev_np(int number) noexcept {
  static constexpr const char* kNames[] = {
      nullptr, "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV",  "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU",  "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  if (number < 0 || static_cast<std::size_t>(number) >= std::size(kNames)) return nullptr;
  return kNames[number];
}

}  // extern "C"
