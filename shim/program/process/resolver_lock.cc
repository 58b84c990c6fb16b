#include "shim/program/process/resolver_lock.h"

#include <netdb.h>
#include <pthread.h>

#include <atomic>

#include "shim/core/system.h"
#include "shim/program/time/real.h"

namespace eidolon::shim::process {
namespace {

constinit std::atomic<std::uint32_t> looked_up{0};

// The look-up takes the lock and gives it back.
void* LookUp(void*) {
  hostent host{};
  hostent* found = nullptr;
  char text[1024];
  int error = 0;
  gethostbyname_r("127.0.0.1", &host, text, sizeof(text), &found, &error);
  looked_up.store(1, std::memory_order_release);
  core::FutexWake(&looked_up, 1);
  return nullptr;
}

}  // namespace

bool IsResolverFree(std::int64_t patience_ns) noexcept {
  looked_up.store(0, std::memory_order_relaxed);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const bool began = pthread_create(&thread, &attributes, LookUp, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  const std::int64_t end_ns = time::real::MonotonicNs() + patience_ns;
  while (began && looked_up.load(std::memory_order_acquire) == 0) {
    const std::int64_t left_ns = end_ns - time::real::MonotonicNs();
    if (left_ns <= 0) break;
    core::FutexWait(&looked_up, 0, left_ns);
  }
  return began && looked_up.load(std::memory_order_acquire) == 1;
}

}  // namespace eidolon::shim::process
