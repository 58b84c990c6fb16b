// Exports: waiting for children. A process that has waited for a child which ended by itself is not
// earlier than the child was then.
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "shim/program/channel/carried_time.h"
#include "shim/program/time/export.h"
#include "shim/program/time/next_function.h"

namespace {

namespace channel = eidolon::shim::channel;
using eidolon::shim::time::real::Next;

constinit Next<pid_t (*)(int*)> next_wait("wait", nullptr);
constinit Next<pid_t (*)(pid_t, int*, int)> next_waitpid("waitpid", nullptr);
constinit Next<pid_t (*)(int*, int, rusage*)> next_wait3("wait3", nullptr);
constinit Next<pid_t (*)(pid_t, int*, int, rusage*)> next_wait4("wait4", nullptr);
constinit Next<int (*)(idtype_t, id_t, siginfo_t*, int)> next_waitid("waitid", nullptr);

pid_t Found(pid_t child) {
  channel::FoundEnded(child);
  return child;
}

}  // namespace

EIDOLON_TIME_EXPORT pid_t wait(int* status) { return Found(next_wait.Get()(status)); }

EIDOLON_TIME_EXPORT pid_t waitpid(pid_t which, int* status, int options) {
  return Found(next_waitpid.Get()(which, status, options));
}

EIDOLON_TIME_EXPORT pid_t wait3(int* status, int options, rusage* used) noexcept {
  return Found(next_wait3.Get()(status, options, used));
}

EIDOLON_TIME_EXPORT pid_t wait4(pid_t which, int* status, int options, rusage* used) noexcept {
  return Found(next_wait4.Get()(which, status, options, used));
}

EIDOLON_TIME_EXPORT int waitid(idtype_t kind, id_t which, siginfo_t* found, int options) {
  // The kernel leaves this field alone when it finds none.
  siginfo_t own{};
  siginfo_t* const seen = found == nullptr ? &own : found;
  seen->si_pid = 0;
  const int result = next_waitid.Get()(kind, which, seen, options);
  if (result == 0) channel::FoundEnded(seen->si_pid);
  return result;
}
