// Export: flock. Ranks that compile the same kernels lock the same file; who is first compiles, and
// others sleep between two looks, so the order is part of what is predicted.
#include <sys/file.h>

#include "shim/program/time/export.h"
#include "shim/program/time/real.h"
#include "shim/program/time/sleep.h"
#include "shim/program/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;

EIDOLON_TIME_EXPORT int flock(int fd, int operation) noexcept {
  const bool locks = (operation & (LOCK_SH | LOCK_EX)) != 0;
  if (locks && time_::InJob()) time_::WaitInRankOrder();
  return time_::real::LockFile(fd, operation);
}
