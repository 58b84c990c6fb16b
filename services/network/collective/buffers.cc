#include "services/network/collective/buffers.h"

#include "services/network/collective/cost.h"

namespace eidolon::network::collective {
namespace {

// One connection of one channel holds a buffer for each protocol (NCCL 2.30 src/include/comm.h):
// Simple NCCL_BUFFSIZE (4 MiB), LL 8 lines x 512 threads x 8 steps x 16 B, LL128 120 words x 640
// threads x 8 steps.
constexpr std::uint64_t kLlBytes = 8 * 512 * 8 * 16 + 120 * 640 * 8 * 8;
// NVLS registers 4 MiB per block for unicast and as much for multicast.
constexpr std::uint64_t kNvlsBlockBytes = 2 * (4u << 20);

}  // namespace

std::uint64_t BufferBytes(const Shape& shape) {
  if (shape.ranks == 1) return 0;
  const std::uint64_t channels = RingChannels(shape).count;
  // A ring receives from one neighbour; a tree between servers from up to two.
  const std::uint64_t connections = shape.nodes > 1 ? 3 : 1;
  std::uint64_t bytes = channels * connections * (shape.tuning.buffer_bytes + kLlBytes);
  if (NvlsChannels(shape).count > 0) bytes += BlocksOf(shape) * kNvlsBlockBytes;
  return bytes;
}

std::uint32_t BlocksOf(const Shape& shape) {
  return CostOf({.kind = Kind::kAllReduce, .bytes = std::uint64_t{1} << 30}, shape).channels;
}

base::Duration InitTime(std::uint32_t ranks) {
  return base::Duration::Milliseconds(100) + base::Duration::Milliseconds(1) * ranks;
}

base::Duration SplitTime(std::uint32_t ranks) {
  return base::Duration::Milliseconds(10) + base::Duration::Microseconds(200) * ranks;
}

}  // namespace eidolon::network::collective
