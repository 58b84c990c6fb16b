#include "shim/program/process/resolver_lock.h"

#include <netdb.h>
#include <pthread.h>

#include "shim/program/time/real.h"

namespace eidolon::shim::process {
namespace {

// Takes the lock for its look-up, and again as it ends.
void* LookUp(void*) {
  hostent host{};
  hostent* found = nullptr;
  char text[1024];
  int error = 0;
  gethostbyname_r("127.0.0.1", &host, text, sizeof(text), &found, &error);
  return nullptr;
}

}  // namespace

bool IsResolverFree(std::int64_t patience_ns) noexcept {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, LookUp, nullptr) != 0) return false;
  return time::real::Join(thread, nullptr, patience_ns) == 0;
}

}  // namespace eidolon::shim::process
