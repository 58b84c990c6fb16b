// The aim is NCCL's choice, not the truth: NCCL compares these numbers, so a cell must contain the
// errors of NCCL's model, too. A constant that measurements contradict stays as NCCL has it, and
// the difference goes into the correction curves (correction.h). Latencies are microseconds,
// bandwidths 10^9 bytes per second of the algorithm, that is of the user's buffer and not of the
// bus. NCCL_ALGO and NCCL_PROTO rule cells out before Possible asks what the members' places allow.
#include "services/network/collective/cells.h"

#include <algorithm>
#include <bit>

#include "services/base/check.h"
#include "services/network/collective/nccl_tables.h"

namespace eidolon::network::collective {
namespace {

using topology::Generation;

Medium InsideOf(const Shape& shape) { return shape.nvlink ? Medium::kNvlink : Medium::kPcie; }

// With one GPU a server nothing hides a network step: NCCL counts a tree's for every algorithm.
double NetworkHopUs(const Shape& shape, Algorithm algorithm, Protocol protocol) {
  const Algorithm counted = shape.ranks == shape.nodes ? Algorithm::kTree : algorithm;
  return HopLatencyUs(Medium::kNetwork, counted, protocol) + shape.hop_extra_us;
}

double FloorLog2(std::uint32_t value) { return std::bit_width(value) - 1; }

// Steps of a ring: all-reduce goes round twice.
std::uint32_t RingSteps(Kind kind, std::uint32_t members) {
  return (kind == Kind::kAllReduce ? 2 : 1) * (members - 1);
}

// Algorithm bandwidth over bus bandwidth.
double RingRatio(Kind kind, const Shape& shape) {
  if (kind == Kind::kBroadcast || kind == Kind::kReduce) return 1;
  return static_cast<double>(shape.ranks) / RingSteps(kind, shape.ranks);
}

double RingBandwidth(Kind kind, const Shape& shape, Protocol protocol) {
  const Channels channels = RingChannels(shape);
  double bus = channels.count * channels.rate;
  if (protocol == Protocol::kLl) bus = std::min(bus * 0.5, LlMax(shape.generation, shape.nodes));
  if (protocol == Protocol::kLl128) {
    bus = std::min(bus * 0.92, channels.count * RingLl128PerChannel(shape.generation));
  }
  return bus * RingRatio(kind, shape);
}

double RingLatencyUs(const Call& call, const Shape& shape, Protocol protocol) {
  const double base = BaseLatencyUs(Algorithm::kRing, protocol);
  if (call.kind == Kind::kBroadcast || call.kind == Kind::kReduce) {
    // A pipeline along the ring, whose channels NCCL makes alike: one step is seen.
    const Medium medium = shape.nodes > 1 ? Medium::kNetwork : InsideOf(shape);
    return base + HopLatencyUs(medium, Algorithm::kRing, protocol) +
           (shape.nodes > 1 ? shape.hop_extra_us : 0);
  }
  double inside = HopLatencyUs(InsideOf(shape), Algorithm::kRing, protocol);
  if (shape.nodes > 1) {
    const double overhead = kNetworkOverheadUs * (protocol == Protocol::kSimple ? 3 : 1);
    inside = std::max(inside, overhead);
  }
  const std::uint32_t steps = RingSteps(call.kind, shape.ranks);
  const std::uint32_t crossings = RingSteps(call.kind, shape.nodes);
  double latency = base + (steps - crossings) * inside +
                   crossings * NetworkHopUs(shape, Algorithm::kRing, protocol);
  // The plateau of rings between servers, once a rank's share of a channel reaches 64 bytes.
  const std::uint64_t shares = std::uint64_t{RingChannels(shape).count} * shape.ranks;
  if (call.kind == Kind::kAllReduce && protocol == Protocol::kSimple && shape.nodes > 1 &&
      call.bytes / shares >= 64) {
    latency *= shape.generation == Generation::kVolta ? 1.9 : 1.4;
  }
  return latency;
}

double TreeBandwidth(const Shape& shape, Protocol protocol, std::uint64_t bytes) {
  const Channels channels = RingChannels(shape);
  double bus = std::min(channels.count * channels.rate * 0.92,
                        channels.count * TreePerChannel(shape.generation, shape.nodes));
  if (protocol == Protocol::kLl) bus = std::min(bus / 3.8, LlMax(shape.generation, shape.nodes));
  if (protocol == Protocol::kLl128) {
    bus = std::min(bus * (shape.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                   channels.count * TreeLl128PerChannel(shape.generation, shape.nodes));
  }
  return bus * 0.5 * TreeCorrection(protocol, bytes);
}

double TreeLatencyUs(const Shape& shape, Protocol protocol) {
  const double local = shape.ranks / shape.nodes - 1;
  return BaseLatencyUs(Algorithm::kTree, protocol) +
         2 * (local * HopLatencyUs(InsideOf(shape), Algorithm::kTree, protocol) +
              FloorLog2(shape.nodes) * NetworkHopUs(shape, Algorithm::kTree, protocol));
}

double NvlsBandwidth(Kind kind, const Shape& shape, Algorithm algorithm) {
  const Channels channels = NvlsChannels(shape);
  const double members = shape.local_max;
  double each =
      channels.rate * NvlsEfficiency(shape.generation) * (channels.count - 1) / channels.count;
  // All-reduce pipelines two operations.
  each *= kind == Kind::kAllReduce ? 2 : (members - 1) / members;
  if (algorithm == Algorithm::kNvlsTree) {
    each = std::min({each, channels.rate * (shape.nodes == 2 ? 2 : 1),
                     NvlsTreePerChannel(shape.generation, shape.nodes)});
  } else if (shape.nodes > 1) {
    each = std::min(each, channels.rate);  // The switches of the fabric reduce.
  }
  return channels.count * each * (kind == Kind::kAllReduce ? RingRatio(kind, shape) : 1);
}

double NvlsLatencyUs(const Shape& shape, Algorithm algorithm) {
  const double inside = HopLatencyUs(Medium::kNvlink, algorithm, Protocol::kSimple);
  if (shape.nodes == 1) return inside;
  const double between = NetworkHopUs(shape, algorithm, Protocol::kSimple);
  if (algorithm == Algorithm::kNvls) return inside + between;
  return inside + 2 * FloorLog2(shape.nodes) * between;
}

double PatLatencyUs(const Shape& shape) {
  return BaseLatencyUs(Algorithm::kPat, Protocol::kSimple) +
         FloorLog2(shape.nodes) * NetworkHopUs(shape, Algorithm::kPat, Protocol::kSimple) / 3.5 +
         shape.ranks * 2.8;
}

double CollNetBandwidth(Kind kind, const Shape& shape, Algorithm algorithm) {
  const Channels channels = RingChannels(shape);
  // One graph channel a NIC.
  const double rate = shape.nic_line_rate;
  double bus = shape.nics * std::min(rate, channels.rate * 2);
  if (algorithm == Algorithm::kCollNetDirect) {
    if (kind != Kind::kAllReduce) return shape.local_max * std::min(channels.rate * 2, rate * 0.9);
    double factor = static_cast<double>(shape.local_max) / shape.nics;  // GPUs per NIC.
    factor -= (factor - 1) / 2;
    bus /= factor;
    const bool late =
        shape.generation == Generation::kHopper || shape.generation == Generation::kBlackwell;
    if (late) bus *= 0.85;
  }
  return bus * 0.5;
}

double CollNetLatencyUs(const Shape& shape, Algorithm algorithm) {
  const double inside = HopLatencyUs(InsideOf(shape), algorithm, Protocol::kSimple);
  const double between = NetworkHopUs(shape, algorithm, Protocol::kSimple);
  const double others = shape.local_max - 1;
  if (algorithm == Algorithm::kCollNetChain) return 2 * others * inside + between;
  // 0.4 us for every further GPU that a NIC serves in turn.
  return 2 * (std::min(1.0, others) * inside + others * 0.4) + between;
}

bool Gathers(Kind kind) { return kind == Kind::kAllGather || kind == Kind::kReduceScatter; }

// Returns whether an algorithm with a protocol can do the operation: by the members' places, and by
// the job's settings of NVLS, CollNet and PAT.
bool Possible(Kind kind, const Shape& shape, Algorithm algorithm, Protocol protocol) {
  if (protocol == Protocol::kLl128 && !shape.nvlink && shape.local_max > 1) return false;
  const bool simple = protocol == Protocol::kSimple;
  const bool reduced = shape.in_network_reduction && shape.tuning.collnet && shape.nodes > 1;
  switch (algorithm) {
    case Algorithm::kRing:
      return true;
    case Algorithm::kTree:
      return kind == Kind::kAllReduce;
    case Algorithm::kNvls:
      if (!simple || NvlsChannels(shape).count == 0) return false;
      if (shape.nodes > 1) return kind == Kind::kAllReduce && reduced;
      return kind == Kind::kAllReduce || Gathers(kind);
    case Algorithm::kNvlsTree:
      return kind == Kind::kAllReduce && simple && shape.nodes > 1 && NvlsChannels(shape).count > 0;
    case Algorithm::kPat:
      return Gathers(kind) && simple && shape.tuning.pat && shape.ranks == shape.nodes;
    case Algorithm::kCollNetDirect:
      return (kind == Kind::kAllReduce || (Gathers(kind) && shape.nics == shape.local_max)) &&
             simple && reduced && shape.switched;
    case Algorithm::kCollNetChain:
      return kind == Kind::kAllReduce && simple && reduced;
    case Algorithm::kPointToPoint:
    case Algorithm::kCopy:
      return false;
  }
  return false;
}

}  // namespace

std::optional<Cell> CellOf(const Call& call, const Shape& shape, Algorithm algorithm,
                           Protocol protocol) {
  CHECK(Tuned(call.kind) && shape.ranks > 1);
  const Allowed& allowed = shape.tuning.For(call.kind);
  if (!allowed.Allows(algorithm) || !allowed.Allows(protocol)) return std::nullopt;
  if (!Possible(call.kind, shape, algorithm, protocol)) return std::nullopt;
  double latency_us = 0;
  double gigabytes = 0;
  switch (algorithm) {
    case Algorithm::kRing:
      latency_us = RingLatencyUs(call, shape, protocol);
      gigabytes = RingBandwidth(call.kind, shape, protocol);
      break;
    case Algorithm::kTree:
      latency_us = TreeLatencyUs(shape, protocol);
      gigabytes = TreeBandwidth(shape, protocol, call.bytes);
      break;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      latency_us = NvlsLatencyUs(shape, algorithm);
      gigabytes = NvlsBandwidth(call.kind, shape, algorithm);
      break;
    case Algorithm::kPat:
      latency_us = PatLatencyUs(shape);
      gigabytes = RingChannels(shape).count * RingChannels(shape).rate * 0.75;
      break;
    case Algorithm::kCollNetDirect:
    case Algorithm::kCollNetChain:
      latency_us = CollNetLatencyUs(shape, algorithm);
      gigabytes = CollNetBandwidth(call.kind, shape, algorithm);
      break;
    case Algorithm::kPointToPoint:
    case Algorithm::kCopy:
      return std::nullopt;
  }
  return Cell{.latency_us = latency_us,
              .transfer_us = static_cast<double>(call.bytes) / gigabytes * 1e-3};
}

}  // namespace eidolon::network::collective
