#include "services/runtime/process/descriptors.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace eidolon::process {
namespace {

// Of kernels that do not know the call: nobody here has more open.
constexpr int kMostDescriptors = 4096;

}  // namespace

// By number: the agent also runs beside libraries that are older than the call.
void CloseOnExecFrom(int first) {
  if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int file = first; file < kMostDescriptors; ++file) {
    const int flags = fcntl(file, F_GETFD);
    if (flags >= 0) fcntl(file, F_SETFD, flags | FD_CLOEXEC);
  }
}

}  // namespace eidolon::process
