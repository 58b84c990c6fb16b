// Computes the device memory of NCCL's communicators. NCCL connects lazily, so a communicator's
// buffers are booked at its first collective, and a peer's at the first send or receive with it.
#pragma once

namespace eidolon::shim::nccl {

struct Communicator;

// False when the device has no room.
bool BookCollectiveBuffers(Communicator& communicator);
bool BookPeerBuffers(Communicator& communicator, int peer);
void ReleaseBuffers(Communicator& communicator);

}  // namespace eidolon::shim::nccl
