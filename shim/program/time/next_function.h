// Finds the functions of libc behind the shim's exports of the same names. Thread safe without a
// lock: two threads that race find the same address.
#pragma once

#include <dlfcn.h>

#include <atomic>

#include "services/base/check.h"

namespace eidolon::shim::time::real {

// A libc function behind our export. The default version is what programs of today link to; dlsym
// alone may give the oldest one (pthread_cond_timedwait has two).
template <typename Function>
class Next {
 public:
  constexpr Next(const char* name, const char* version) : name_(name), versions_{version} {}
  constexpr Next(const char* name, const char* const (&versions)[2])
      : name_(name), versions_{versions[0], versions[1]} {}

  Function Get() noexcept {
    void* found = address_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      for (const char* version : versions_) {
        if (found == nullptr && version != nullptr) found = dlvsym(RTLD_NEXT, name_, version);
      }
      if (found == nullptr) found = dlsym(RTLD_NEXT, name_);
      CHECK(found != nullptr);
      address_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function>(found);
  }

 private:
  const char* name_;
  const char* versions_[2]{};
  std::atomic<void*> address_{nullptr};
};

}  // namespace eidolon::shim::time::real
