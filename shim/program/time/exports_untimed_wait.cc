// Exports: waits without a timeout for another thread. They take as long as they take; a driver
// that waited goes on, in virtual time, from where the process is: what it waited for came first.
// PyTorch's main thread waits so for autograd's, and autograd's for the next backward pass.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "shim/core/rank_clock.h"
#include "shim/program/time/export.h"
#include "shim/program/time/real.h"
#include "shim/program/time/virtual_clock.h"

namespace time_ = eidolon::shim::time;
namespace real = time_::real;

namespace {

int Waited(int result) {
  if (time_::InJob()) {
    eidolon::shim::core::NoteWaited();
    time_::ApplyReceivedTime();
  }
  return result;
}

}  // namespace

EIDOLON_TIME_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return Waited(real::CondWait(condition, mutex));
}

// One that is free is taken without waiting: threads that share nothing but a lock do not wait for
// each other.
EIDOLON_TIME_EXPORT int sem_wait(sem_t* semaphore) {
  const int error = errno;
  if (sem_trywait(semaphore) == 0) return 0;
  if (errno == EAGAIN) errno = error;
  return Waited(real::SemaphoreWait(semaphore));
}

EIDOLON_TIME_EXPORT int pthread_join(pthread_t thread, void** result) {
  return Waited(real::Join(thread, result));
}

// glibc's C11 types are its POSIX types under other names.
EIDOLON_TIME_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  const int result = pthread_cond_wait(reinterpret_cast<pthread_cond_t*>(condition),
                                       reinterpret_cast<pthread_mutex_t*>(mutex));
  return result == 0 ? thrd_success : thrd_error;
}

EIDOLON_TIME_EXPORT int thrd_join(thrd_t thread, int* result) {
  void* returned = nullptr;
  if (pthread_join(thread, &returned) != 0) return thrd_error;
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(returned));
  return thrd_success;
}
