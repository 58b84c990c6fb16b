// Host functions that the program put on a stream. They run on one thread of ours, in the order in
// which they were issued, once the rank clock is where the stream reaches them; waits that cover
// one return after it ran. A program may wait for what one of them does without asking the GPU (XLA
// does): when every thread that moves the clock rests, the function's time is the next that comes,
// and the clock moves there. A clock that stands still otherwise, because the program spins, holds
// them up for a moment only.
#pragma once

#include <cstdint>

#include "shim/gpu/status.h"
#include "shim/gpu/stream/stream.h"

namespace eidolon::shim::gpu {

// Puts a host function on a stream that is not capturing (kHostCallback record).
Status EnqueueCallback(Stream& stream, void (*function)(void*), void* data) noexcept;

// cudaLaunchHostFunc: enqueues, or makes a node when the stream is capturing.
Status LaunchHostFunction(StreamHandle stream, void (*function)(void*), void* data) noexcept;

// The same for host nodes of a graph that was just launched on the stream: no record of its own.
Status EnqueueGraphCallback(Stream& stream, void (*function)(void*), void* data) noexcept;

// A fresh number for a host node of a graph (GraphNode::id).
std::uint32_t NewCallbackId() noexcept;

// Runs what is due now and waits for it. Called after every host wait. For a thread that does not
// move the clock, all that the engine knows the end of is due.
void RunDueCallbacks() noexcept;

}  // namespace eidolon::shim::gpu
