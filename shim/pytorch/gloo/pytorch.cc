#include "shim/pytorch/gloo/pytorch.h"

#include <dlfcn.h>

#include <atomic>

#include "services/base/text.h"
#include "shim/pytorch/gloo/group.h"

namespace eidolon::shim::gloo {

void* FindInPytorch(const char* name) {
  static std::atomic<void*> library{nullptr};
  void* found = library.load();
  if (found == nullptr) {
    found = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    library.store(found);
  }
  void* const function = found == nullptr ? nullptr : dlsym(found, name);
  if (function == nullptr) {
    EndJob(base::StrCat("a Gloo group with mirrored ranks is used, and this PyTorch has no ", name,
                        "; run this job without folding"));
  }
  return function;
}

}  // namespace eidolon::shim::gloo
