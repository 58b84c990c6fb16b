#include "services/network/collective/memory_use.h"

namespace eidolon::network::collective {
namespace {

// Bytes of memory for a byte that a member receives, and for one that it sends out of a tensor.
struct PerByte {
  double received;
  double sent;
};

// The buffer lies with the receiver. Without NVLink it mostly lies in the memory of the host (SHM).
PerByte Inside(const Shape& shape) { return {.received = shape.nvlink ? 3.0 : 1.0, .sent = 1.0}; }

// A NIC has a buffer at each end: the sender's kernel writes one, from which the NIC reads.
constexpr PerByte kBetweenServers = {.received = 3.0, .sent = 3.0};
// What a NIC adds to a byte that a ring passes on without its own tensor.
constexpr double kPassedThroughNic = 2.0;

PerByte Mean(const Shape& shape, double between) {
  const PerByte inside = Inside(shape);
  return {.received = inside.received + between * (kBetweenServers.received - inside.received),
          .sent = inside.sent + between * (kBetweenServers.sent - inside.sent)};
}

std::uint64_t Rounded(double bytes) { return static_cast<std::uint64_t>(bytes + 0.5); }

// Bytes that arrive at each member: nccl-tests' bus bandwidth counts them.
double Arriving(const Call& call, const Shape& shape) {
  const auto bytes = static_cast<double>(call.bytes);
  const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
  switch (call.kind) {
    case Kind::kAllReduce:
      return 2 * others * bytes;
    case Kind::kAllGather:
    case Kind::kReduceScatter:
    case Kind::kAllToAll:
      return others * bytes;
    case Kind::kGather:
    case Kind::kScatter:
      return others * bytes / shape.ranks;
    case Kind::kBroadcast:
    case Kind::kReduce:
    case Kind::kPointToPoint:
      return bytes;
  }
  return bytes;
}

}  // namespace

std::uint64_t MemoryBytes(const Call& call, const Shape& shape) {
  if (shape.tuning.fixed) return 0;
  if (shape.ranks <= 1) return 2 * call.bytes;
  const double arriving = Arriving(call, shape);
  if (!Tuned(call.kind)) {
    const double remote = static_cast<double>(shape.ranks - shape.local_min) / (shape.ranks - 1);
    const PerByte each = Mean(shape, remote);
    return Rounded(arriving * (each.received + each.sent));
  }
  // A ring leaves a server through one of the members there.
  const double between = shape.nodes > 1 ? 1.0 / shape.local_max : 0;
  const double passing = Mean(shape, between).received + between * kPassedThroughNic;
  return Rounded(arriving * passing);
}

std::uint64_t TransferMemoryBytes(const Shape& shape, std::uint64_t sent, std::uint64_t received) {
  if (shape.tuning.fixed) return 0;
  const PerByte each = shape.nodes > 1 ? kBetweenServers : Inside(shape);
  return Rounded(static_cast<double>(received) * each.received +
                 static_cast<double>(sent) * each.sent);
}

}  // namespace eidolon::network::collective
