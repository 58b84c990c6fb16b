// Whether a process may start the threads that it needs. Libraries below us (gRPC) end the process
// when they may not, so that is found out before.
#pragma once

#include "services/base/error.h"

namespace eidolon::runtime {

// Starts `count` threads at once, and ends them. The error names the limits that may be reached.
base::Result<void> CheckThreads(int count);

}  // namespace eidolon::runtime
