// Keeps what host code registers before main: fat binaries, and for each kernel and variable the
// host address that stands for it. A process with PyTorch registers some 24,000 kernels and uses a
// few hundred, so registration only notes the arguments; tables are made when something is looked
// up.
#pragma once

#include <cstdint>

#include "shim/gpu/module/module.h"

namespace eidolon::shim::gpu {

// Registration calls; never fail, touch no session, and copy no text: names lie in the host object.
Library* RegisterBinary(const void* image) noexcept;
void RegisterKernel(Library* library, const void* host, const char* name) noexcept;
void RegisterVariable(Library* library, const void* host, const char* name) noexcept;
// The host object is going away (dlclose, exit): its addresses may come back for something else.
void UnregisterBinary(Library* library) noexcept;

// The kernel or variable that a host address stands for. kNotFound: never registered, or the code
// for the emulated GPU lacks it. Lock free for kernels found before.
Status FindHostKernel(const void* host, Kernel** result) noexcept;
Status FindHostVariable(const void* host, int device, Variable* result) noexcept;

}  // namespace eidolon::shim::gpu
