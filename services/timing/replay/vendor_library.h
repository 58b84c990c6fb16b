// The vendor's math libraries, loaded at run time: absent is fine, and said.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::timing::replay {

struct VendorLibrary {
  void* handle;      // For dlsym; never closed.
  std::string path;  // As it was asked for, for messages.
};

// Loads `file` from a folder, from where the loader looks when there is none. Fails
// with kNotFound, naming what it is ("cuBLAS") and the loader's reason.
base::Result<VendorLibrary> LoadVendorLibrary(const std::string& folder, const char* file,
                                              const char* what);

}  // namespace eidolon::timing::replay
