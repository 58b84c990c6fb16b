#include "shim/vendor/nccl/buffers.h"

#include <cstdint>
#include <mutex>

#include "shim/core/session.h"
#include "shim/gpu/memory/memory.h"
#include "shim/vendor/nccl/communicator.h"

namespace eidolon::shim::nccl {
namespace {

// Receive buffers of one connection, from NCCL's own constants: eight steps of each protocol.
// LL: 512 threads x 8 lines x 16 bytes; LL128: 640 threads x 120 elements x 8 bytes; simple:
// NCCL_BUFFSIZE.
constexpr std::int64_t kLlBytes = 8 * 512 * 8 * 16;
constexpr std::int64_t kLl128Bytes = 8 * 640 * 120 * 8;
constexpr std::int64_t kSimpleBytes = 4 << 20;
constexpr std::int64_t kConnectionBytes = kLlBytes + kLl128Bytes + kSimpleBytes;
// A pair of ranks uses at least this many channels for sends and receives, with the simple
// protocol.
constexpr std::int64_t kPeerChannels = 2;

bool Book(Communicator& communicator, std::int64_t bytes) {
  if (gpu::Book(communicator.device, ring::MemoryCategory::kNccl, bytes) != gpu::Status::kSuccess) {
    return false;
  }
  communicator.booked_bytes += static_cast<std::uint64_t>(bytes);
  return true;
}

}  // namespace

bool BookCollectiveBuffers(Communicator& communicator) {
  const std::lock_guard lock(communicator.mutex);
  if (communicator.collective_booked) return true;
  const core::Session* session = core::Session::Existing();
  if (session == nullptr) return true;
  // One incoming connection of the ring in each channel.
  const std::int64_t channels = session->header().nccl_channels;
  communicator.collective_booked = Book(communicator, channels * kConnectionBytes);
  return communicator.collective_booked;
}

bool BookPeerBuffers(Communicator& communicator, int peer) {
  const std::lock_guard lock(communicator.mutex);
  if (communicator.peers_booked.contains(peer)) return true;
  if (!Book(communicator, kPeerChannels * (kSimpleBytes + kLlBytes))) return false;
  communicator.peers_booked.insert(peer);
  return true;
}

void ReleaseBuffers(Communicator& communicator) {
  const std::lock_guard lock(communicator.mutex);
  if (communicator.booked_bytes > 0) {
    gpu::Book(communicator.device, ring::MemoryCategory::kNccl,
              -static_cast<std::int64_t>(communicator.booked_bytes));
  }
  communicator.booked_bytes = 0;
}

}  // namespace eidolon::shim::nccl
