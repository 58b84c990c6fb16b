#include "shim/gloo/pytorch.h"

#include <dlfcn.h>

#include <atomic>

namespace eidolon::shim::gloo {

void* FindInPytorch(const char* name) {
  static std::atomic<void*> library{nullptr};
  void* found = library.load();
  if (found == nullptr) {
    found = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    library.store(found);
  }
  return found == nullptr ? nullptr : dlsym(found, name);
}

}  // namespace eidolon::shim::gloo
