// Driver functions by name: what cuGetProcAddress and the runtime's cudaGetDriverEntryPoint answer
// from. The table comes from cudaTypedefs.h (lookup.inc). Thread safe: it never changes.
#pragma once

#include <string_view>

namespace eidolon::shim::cuda_driver {

struct FoundFunction {
  // Null when there is no such function, or none old enough.
  void* address = nullptr;
  // With a null address: the name exists, but only in versions newer than asked for.
  bool version_too_old = false;
};

// The newest variant of the base name (`cuMemAlloc`, not `cuMemAlloc_v2`) that a program built for
// `cuda_version` (12040 for 12.4) knows. per_thread: prefer variants with per-thread default
// streams. Functions that we refuse are found too: calling them gives the not-supported code.
FoundFunction FindDriverFunction(std::string_view name, int cuda_version, bool per_thread) noexcept;

}  // namespace eidolon::shim::cuda_driver
