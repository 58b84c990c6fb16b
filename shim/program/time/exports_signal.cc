// Exports: who handles signals. Only SIGSEGV is the shim's concern, and only once it took it.
#include <signal.h>

#include "shim/program/time/export.h"
#include "shim/program/time/fault_handler.h"
#include "shim/program/time/real.h"

namespace time_ = eidolon::shim::time;

EIDOLON_TIME_EXPORT int sigaction(int number, const struct sigaction* wanted,
                                  struct sigaction* before) noexcept {
  if (number != SIGSEGV || !time_::AreFaultsTaken()) {
    return time_::real::Sigaction(number, wanted, before);
  }
  time_::SetBehind(wanted, before);
  return 0;
}

EIDOLON_TIME_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (number != SIGSEGV || handler == SIG_ERR || !time_::AreFaultsTaken()) {
    return time_::real::Signal(number, handler);
  }
  struct sigaction wanted {};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  sigemptyset(&wanted.sa_mask);
  sigaddset(&wanted.sa_mask, number);
  struct sigaction before {};
  time_::SetBehind(&wanted, &before);
  return before.sa_handler;
}
