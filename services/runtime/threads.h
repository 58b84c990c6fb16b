// Checks whether a process may start the threads that it needs, and ends it when it may not.
// Libraries below us (gRPC) abort the process then, so that is found out before they start theirs.
#pragma once

#include "services/base/error.h"

namespace eidolon::runtime {

// Starts `count` threads at once, and ends them. The error names the limits that may be reached.
base::Result<void> CheckThreads(int count);

// Makes a thread that cannot be started, if nothing catches that, end the process with status 1 and
// the log line no_threads. Every other uncaught exception aborts, as before.
void ExitWhenThreadsRunOut();

}  // namespace eidolon::runtime
