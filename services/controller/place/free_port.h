// TCP ports for the rendezvous of jobs.
#pragma once

#include <cstdint>

#include "services/base/error.h"

namespace eidolon::controller::place {

// A port of 127.0.0.1 that nobody listens on right now. Somebody else may take it before the job
// does; the job then fails with the message of its own rendezvous.
base::Result<std::uint16_t> FindFreePort();

}  // namespace eidolon::controller::place
