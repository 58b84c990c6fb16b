// Two questions are kept apart: which algorithm NCCL takes, and how long that takes. The choice is
// the least cell of NCCL's own table, and a measured curve of that algorithm then corrects its
// time. A correction of the table itself would change the choice, too. A ratio above one lengthens
// the transfer alone, because a late pipeline occupies its links longer; a ratio below one shortens
// the latency as well. Shapes that no published log resembles keep the time of the table.
#include "services/network/collective/cost.h"

#include <algorithm>
#include <optional>

#include "services/base/check.h"
#include "services/network/collective/point_to_point.h"

namespace eidolon::network::collective {
namespace {

using base::Duration;
using topology::Generation;

Duration Seconds(double seconds) { return Duration::FromSeconds(std::min(seconds, kSecondsMax)); }
Duration Microseconds(double us) { return Seconds(us * 1e-6); }

// Multiprocessors that NVLS keeps busy: NVLS_NCHANNELS_SM90, _SM100 within the limits on blocks
// (src/transport/nvls.cc). NCCL's table does not count with them, and no log tells how much slower
// fewer are.
std::uint32_t NvlsBlocks(const Shape& shape) {
  const std::uint32_t usual = shape.generation == Generation::kBlackwell ? 32 : 16;
  return std::max(std::min(usual, shape.tuning.channels_max), shape.tuning.channels_min);
}

// NCCL drops channels until each thread has enough to do.
std::uint32_t UsedChannels(const Call& call, const Shape& shape, Algorithm algorithm,
                           Protocol protocol) {
  if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree) return NvlsBlocks(shape);
  struct Work {
    std::uint64_t threads, bytes_per_thread;
  };
  constexpr Work kWork[kProtocols] = {{512, 8}, {640, 8}, {512, 64}};
  const Work work = kWork[static_cast<std::size_t>(protocol)];
  std::uint64_t least = work.threads * work.bytes_per_thread;
  if (algorithm == Algorithm::kRing && protocol == Protocol::kLl) least *= shape.ranks;
  const std::uint64_t fed = std::max<std::uint64_t>(1, call.bytes / least);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(RingChannels(shape).count, fed));
}

// Alone in its communicator a rank only copies: launch overhead and a pass through device memory.
Cost CopyCost(const Call& call) {
  constexpr double kLatencyUs = 2.0;
  constexpr std::uint64_t kBytesPerSecond = 1'200'000'000'000;
  return {.latency = Microseconds(kLatencyUs),
          .transfer = base::TransferTime(call.bytes, kBytesPerSecond),
          .algorithm = Algorithm::kCopy,
          .protocol = Protocol::kSimple,
          .channels = 1,
          .relative_error = 0.3f};
}

Cost FromCell(const Call& call, const Shape& shape, Algorithm algorithm, Protocol protocol,
              double latency_us, double transfer_us) {
  return {.latency = Microseconds(latency_us),
          .transfer = Microseconds(transfer_us),
          .algorithm = algorithm,
          .protocol = protocol,
          .channels = UsedChannels(call, shape, algorithm, protocol),
          .relative_error = RelativeError(call, shape)};
}

Cost FixedCost(const Call& call, const Shape& shape) {
  const FixedTransfer& fixed = *shape.tuning.fixed;
  return {.latency = fixed.latency,
          .transfer = base::TransferTime(call.bytes, fixed.bytes_per_second),
          .algorithm = shape.ranks == 1   ? Algorithm::kCopy
                       : Tuned(call.kind) ? Algorithm::kRing
                                          : Algorithm::kPointToPoint,
          .protocol = Protocol::kSimple,
          .channels = kFixedChannels,
          .relative_error = 1};
}

struct Choice {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  Cell cell;
};

// The least of NCCL's table. A tuning that leaves no choice at all falls back to the ring, as
// NCCL's own fall-back for kinds that the named algorithm does not serve.
Choice Choose(const Call& call, const Shape& shape) {
  std::optional<Choice> best;
  for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    for (int protocol = 0; protocol < kProtocols; ++protocol) {
      const auto a = static_cast<Algorithm>(algorithm);
      const auto p = static_cast<Protocol>(protocol);
      const auto cell = CellOf(call, shape, a, p);
      if (cell && (!best || cell->Total() < best->cell.Total())) best = Choice{a, p, *cell};
    }
  }
  if (best) return *best;
  Shape free = shape;
  free.tuning.allowed = {};
  return {Algorithm::kRing, Protocol::kSimple,
          *CellOf(call, free, Algorithm::kRing, Protocol::kSimple)};
}

}  // namespace

Cost TabledCostOf(const Call& call, const Shape& shape) {
  CHECK(call.kind != Kind::kPointToPoint);
  if (shape.ranks == 1) return CopyCost(call);
  if (!Tuned(call.kind)) return ExchangeCost(call, shape);
  const Choice choice = Choose(call, shape);
  return FromCell(call, shape, choice.algorithm, choice.protocol, choice.cell.latency_us,
                  choice.cell.transfer_us);
}

Cost CostOf(const Call& call, const Shape& shape) { return CostOf(call, shape, Curves()); }

Cost CostOf(const Call& call, const Shape& shape, std::span<const Curve> curves) {
  if (shape.tuning.fixed) return FixedCost(call, shape);
  Cost cost = TabledCostOf(call, shape);
  // Logs of GPUs that meet over PCIe are of one server, whose bridges are in them.
  const bool measured =
      shape.nvlink || shape.local_max == 1 || (shape.nodes == 1 && !shape.bridged);
  if (cost.algorithm == Algorithm::kCopy || !measured) return cost;
  const double ratio = Correction(curves, KeyOf(call.kind, shape, cost.algorithm), call.bytes);
  // What a step takes is not stretched: a late pipeline occupies its links longer.
  const double total = ratio * cost.Total().Seconds();
  const double latency = std::min(1.0, ratio) * cost.latency.Seconds();
  cost.latency = Seconds(latency);
  cost.transfer = Seconds(total - latency);
  return cost;
}

}  // namespace eidolon::network::collective
