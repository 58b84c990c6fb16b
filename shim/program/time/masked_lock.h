// Holds a spin lock while all signals of the calling thread are blocked. For locks that functions
// take which programs also call in signal handlers (alarm, timer_settime): a handler that
// interrupted the holder of the lock would wait for it for ever.
#pragma once

#include <pthread.h>
#include <signal.h>

#include "shim/core/spin_lock.h"

namespace eidolon::shim::time {

class MaskedLock {
 public:
  explicit MaskedLock(core::SpinLock& lock) noexcept : lock_(lock) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    lock_.lock();
  }
  ~MaskedLock() {
    lock_.unlock();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  MaskedLock(const MaskedLock&) = delete;
  MaskedLock& operator=(const MaskedLock&) = delete;

 private:
  core::SpinLock& lock_;
  sigset_t before_;
};

}  // namespace eidolon::shim::time
