// Programs built for another major version of CUDA bring a runtime of their own, whose calls have
// other shapes: they are refused from the start, with a reason that names the file.
#pragma once

namespace eidolon::shim::gpu {

// The name under which such a program is refused ("libcudart.so.11 of another CUDA version ..."),
// or null when there is none. Looks at the loaded libraries once. Lives for ever.
const char* ForeignRuntime() noexcept;

}  // namespace eidolon::shim::gpu
