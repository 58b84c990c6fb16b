// The workspace pool that cuBLAS keeps for itself when the program gives it none: booked on the
// device at the first call that would use it.
#pragma once

namespace eidolon::shim::cublas {

struct Context;

// Books the pool of the stream's device once per process, unless the handle has the program's
// workspace. False when the device has no room for it.
bool BookPool(const Context& context);

}  // namespace eidolon::shim::cublas
