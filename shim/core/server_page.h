// The page that all processes of one emulated server share, also those that never touch a GPU: the
// job's clock. Only the agent writes it.
#pragma once

#include "services/contract/ring/layout.h"

namespace eidolon::shim::core {

// The page of $EIDOLON_RUN_DIR/server.page, mapped on the first call and kept (also in forks);
// nullptr outside a job. Thread safe; a failure is remembered.
const ring::ServerPage* MappedServerPage() noexcept;

// The run directory of this process's emulated server; nullptr outside a job.
const char* RunDirectory() noexcept;

}  // namespace eidolon::shim::core
