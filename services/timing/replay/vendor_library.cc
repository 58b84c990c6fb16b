#include "services/timing/replay/vendor_library.h"

#include <dlfcn.h>

#include "services/base/text.h"

namespace eidolon::timing::replay {

base::Result<VendorLibrary> LoadVendorLibrary(const std::string& folder, const char* file,
                                              const char* what) {
  const std::string path = folder.empty() ? file : base::StrCat(folder, "/", file);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return VendorLibrary{library, path};
  const char* reason = dlerror();
  return base::Fail(base::ErrorCode::kNotFound,
                    base::StrCat("no ", what, ": ", reason == nullptr ? path.c_str() : reason));
}

}  // namespace eidolon::timing::replay
