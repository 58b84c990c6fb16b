// What a process does to its descriptors and to itself: the life line (core/life_line.h) is passed
// over when all descriptors are closed, and the agent hears how a process goes. Everything is a
// system call of its own: some of these may be called in a signal handler, or between fork and
// exec, where looking up libc's own function is not safe.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "services/contract/ring/layout.h"
#include "shim/core/life_line.h"
#include "shim/core/system.h"
#include "shim/program/channel/carried_time.h"
#include "shim/program/process/next_program.h"

#define EIDOLON_PROCESS_EXPORT extern "C" __attribute__((visibility("default")))

namespace core = eidolon::shim::core;
using eidolon::ring::Farewell;

namespace {

// The kernel's answer as libc gives it.
int Answer(long result) {
  if (result >= 0) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}

int CloseRange(unsigned first, unsigned last, unsigned flags) {
  return Answer(core::RawSyscall(SYS_close_range, first, last, flags));
}

// Serves kernels that do not know the call.
void CloseOneByOne(int first) {
  const long most = sysconf(_SC_OPEN_MAX);
  for (int file = first; file < most; ++file) {
    if (!core::IsLifeLine(file)) core::RawSyscall(SYS_close, file);
  }
}

int Duplicate(int from, int to, int flags) {
  if (from != to && core::IsLifeLine(to) && !core::MoveLifeLine()) {
    errno = EMFILE;
    return -1;
  }
  return Answer(core::RawSyscall(SYS_dup3, from, to, flags));
}

// What a process starts inherits whether its readings of the tick counter trap, and has no handler.
class RealTicks {
 public:
  RealTicks() : hidden_(core::ticks_hidden.load(std::memory_order_relaxed)) {
    if (hidden_) core::TrapTicks(false);
  }
  RealTicks(const RealTicks&) = delete;
  RealTicks& operator=(const RealTicks&) = delete;
  ~RealTicks() {
    if (hidden_) core::TrapTicks(true);
  }

 private:
  bool hidden_;
};

// libc's function. Of several versions dlsym alone may give the oldest one.
template <typename Function>
Function Next(const char* name, const char* version) {
  void* found = dlvsym(RTLD_NEXT, name, version);
  return reinterpret_cast<Function>(found != nullptr ? found : dlsym(RTLD_NEXT, name));
}

int Replace(const char* path, char* const* arguments, char* const* environment) {
  eidolon::shim::process::GoOnAs(path, arguments, environment);
  const RealTicks real_ticks;
  eidolon::shim::channel::NoteNewProgram();
  core::SayFarewell(Farewell::kReplaced);
  const long failure =
      core::RawSyscall(SYS_execve, reinterpret_cast<long>(path), reinterpret_cast<long>(arguments),
                       reinterpret_cast<long>(environment));
  core::SayFarewell(Farewell::kNone);
  return Answer(failure);
}

// Notes for the agent and for the parent that this process ends by itself.
void SayThatItEnds() {
  core::SayFarewell(Farewell::kEnded);
  eidolon::shim::channel::NoteEnd();
}

[[noreturn]] void EndAtOnce(int status) {
  SayThatItEnds();
  while (true) core::RawSyscall(SYS_exit_group, status);
}

// Runs when the libraries that use the shim were already torn down.
[[gnu::destructor]] void SayThatItEnded() { SayThatItEnds(); }

}  // namespace

EIDOLON_PROCESS_EXPORT int close(int file) {
  if (core::IsLifeLine(file)) {
    errno = EBADF;
    return -1;
  }
  return Answer(core::RawSyscall(SYS_close, file));
}

EIDOLON_PROCESS_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  const int line = core::LifeLine();
  const auto number = static_cast<unsigned>(line);
  // What only closes at exec does no harm: the life line does so anyway.
  const bool spares = (flags & CLOSE_RANGE_CLOEXEC) != 0 || !core::IsLifeLine(line) ||
                      number < first || number > last;
  const auto wanted = static_cast<unsigned>(flags);
  if (spares) return CloseRange(first, last, wanted);
  if (number > first && CloseRange(first, number - 1, wanted) != 0) return -1;
  return number < last ? CloseRange(number + 1, last, wanted) : 0;
}

EIDOLON_PROCESS_EXPORT void closefrom(int first) noexcept {
  const unsigned from = first < 0 ? 0 : static_cast<unsigned>(first);
  if (close_range(from, ~0U, 0) != 0) CloseOneByOne(static_cast<int>(from));
}

EIDOLON_PROCESS_EXPORT int dup2(int from, int to) noexcept {
  if (from != to) return Duplicate(from, to, 0);
  return Answer(core::RawSyscall(SYS_fcntl, from, F_GETFD)) < 0 ? -1 : to;
}

EIDOLON_PROCESS_EXPORT int dup3(int from, int to, int flags) noexcept {
  return Duplicate(from, to, flags);
}

EIDOLON_PROCESS_EXPORT int execve(const char* path, char* const arguments[],
                                  char* const environment[]) noexcept {
  return Replace(path, arguments, environment);
}

EIDOLON_PROCESS_EXPORT int execv(const char* path, char* const arguments[]) noexcept {
  return Replace(path, arguments, environ);
}

EIDOLON_PROCESS_EXPORT void _exit(int status) { EndAtOnce(status); }

EIDOLON_PROCESS_EXPORT void _Exit(int status) noexcept { EndAtOnce(status); }

// Runs what at_quick_exit was given; the process then ends inside of libc.
EIDOLON_PROCESS_EXPORT void quick_exit(int status) noexcept {
  SayThatItEnds();
  using Function = void (*)(int);
  if (const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "quick_exit"))) next(status);
  EndAtOnce(status);
}

EIDOLON_PROCESS_EXPORT int posix_spawn(pid_t* child, const char* path,
                                       const posix_spawn_file_actions_t* actions,
                                       const posix_spawnattr_t* attributes, char* const arguments[],
                                       char* const environment[]) {
  const RealTicks real_ticks;
  eidolon::shim::channel::NoteNewChild();
  const auto next = Next<decltype(&posix_spawn)>("posix_spawn", "GLIBC_2.15");
  return next == nullptr ? ENOSYS : next(child, path, actions, attributes, arguments, environment);
}

EIDOLON_PROCESS_EXPORT int posix_spawnp(pid_t* child, const char* file,
                                        const posix_spawn_file_actions_t* actions,
                                        const posix_spawnattr_t* attributes,
                                        char* const arguments[], char* const environment[]) {
  const RealTicks real_ticks;
  eidolon::shim::channel::NoteNewChild();
  const auto next = Next<decltype(&posix_spawnp)>("posix_spawnp", "GLIBC_2.15");
  return next == nullptr ? ENOSYS : next(child, file, actions, attributes, arguments, environment);
}

EIDOLON_PROCESS_EXPORT int system(const char* command) {
  const RealTicks real_ticks;
  eidolon::shim::channel::NoteNewChild();
  const auto next = Next<decltype(&system)>("system", "GLIBC_2.2.5");
  return next == nullptr ? -1 : next(command);
}

EIDOLON_PROCESS_EXPORT FILE* popen(const char* command, const char* mode) {
  const RealTicks real_ticks;
  eidolon::shim::channel::NoteNewChild();
  const auto next = Next<decltype(&popen)>("popen", "GLIBC_2.2.5");
  return next == nullptr ? nullptr : next(command, mode);
}
