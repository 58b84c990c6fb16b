// Asking the agent about streams and events, and what a program's wait brings with it.
#pragma once

#include <cstdint>

#include "services/contract/ring/layout.h"
#include "services/contract/ring/record.h"
#include "shim/gpu/status.h"
#include "shim/value/finished_reads.h"

namespace eidolon::shim::gpu {

// kSuccess, kNotReady, kInvalidHandle, or kUnknown when the job is ending.
Status StatusOf(ring::ReplyStatus status) noexcept;

// Asks kSynchronizeStream, kSynchronizeEvent or kSynchronizeDevice and waits; then runs due host
// callbacks and puts outstanding values in place, surely those of the reads that have ended by
// then. Threads that do not drive the clock poll instead of waiting, so that they never hold up the
// rank.
Status WaitFor(ring::RecordKind kind, int device, std::uint64_t id,
               const value::FinishedReads& finished) noexcept;

// Waits so for all streams of the device.
Status WaitForDevice(int device) noexcept;

// Asks kQueryStream or kQueryEvent. A thread that keeps asking without working in between pays for
// it with virtual time (drivers) or real time (others), so that no poll loop spins for ever at one
// instant.
Status Query(ring::RecordKind kind, int device, std::uint64_t id,
             const value::FinishedReads& finished) noexcept;

}  // namespace eidolon::shim::gpu
