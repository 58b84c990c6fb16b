// Asking the agent about streams and events, and what a program's wait brings with it.
#pragma once

#include <cstdint>

#include "services/ring/layout.h"
#include "services/ring/record.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

// kSuccess, kNotReady, kInvalidHandle, or kUnknown when the job is ending.
Status StatusOf(ring::ReplyStatus status) noexcept;

// Asks kSynchronizeStream, kSynchronizeEvent or kSynchronizeDevice and waits; then runs due host
// callbacks and puts outstanding values in place. Threads that do not drive the clock poll instead
// of waiting, so that they never hold up the rank.
Status WaitFor(ring::RecordKind kind, int device, std::uint64_t id) noexcept;

// Asks kQueryStream or kQueryEvent. A thread that keeps asking without working in between pays for
// it with virtual time (drivers) or real time (others), so that no poll loop spins for ever at one
// instant.
Status Query(ring::RecordKind kind, int device, std::uint64_t id) noexcept;

// What every successful wait or query ends with.
void FinishWait() noexcept;

}  // namespace eidolon::shim::gpu
