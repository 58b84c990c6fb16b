#include "services/network/collective/cost.h"

#include <algorithm>
#include <bit>

#include "services/base/check.h"
#include "services/network/collective/nccl_tables.h"
#include "services/network/collective/point_to_point.h"

namespace eidolon::network::collective {
namespace {

using base::Duration;
using topology::Generation;

Duration Microseconds(double us) { return Duration::FromSeconds(us * 1e-6); }

Medium InsideOf(const Shape& shape) { return shape.nvlink ? Medium::kNvlink : Medium::kPcie; }

double NetworkHopUs(const Shape& shape, Algorithm algorithm, Protocol protocol) {
  return HopLatencyUs(Medium::kNetwork, algorithm, protocol) + shape.hop_extra_us;
}

// Steps of a ring: all-reduce goes round twice.
std::uint32_t RingSteps(Kind kind, std::uint32_t members) {
  return (kind == Kind::kAllReduce ? 2 : 1) * (members - 1);
}

double FloorLog2(std::uint32_t value) { return std::bit_width(value) - 1; }

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
  double inside = HopLatencyUs(InsideOf(shape), Algorithm::kRing, protocol);
  if (shape.nodes > 1) {
    const double overhead = kNetworkOverheadUs * (protocol == Protocol::kSimple ? 3 : 1);
    inside = std::max(inside, overhead);
  }
  const std::uint32_t steps = RingSteps(call.kind, shape.ranks);
  const std::uint32_t crossings = RingSteps(call.kind, shape.nodes);
  double latency = BaseLatencyUs(Algorithm::kRing, protocol) + (steps - crossings) * inside +
                   crossings * NetworkHopUs(shape, Algorithm::kRing, protocol);
  // The plateau of rings between servers, once a rank's share of a channel reaches 64 bytes.
  const std::uint64_t shares = std::uint64_t{RingChannels(shape).count} * shape.ranks;
  if (call.kind == Kind::kAllReduce && protocol == Protocol::kSimple && shape.nodes > 1 &&
      call.bytes / shares >= 64) {
    latency *= 1.4;
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

double NvlsBandwidth(const Shape& shape) {
  const Channels channels = NvlsChannels(shape);
  const double efficiency = NvlsEfficiency(shape.generation);
  double each = 2 * channels.rate * efficiency * (channels.count - 1) / channels.count;
  if (shape.nodes > 1) {
    each = std::min({each, channels.rate * (shape.nodes == 2 ? 2 : 1),
                     NvlsTreePerChannel(shape.generation, shape.nodes)});
  }
  return channels.count * each * RingRatio(Kind::kAllReduce, shape);
}

double NvlsLatencyUs(const Shape& shape, Algorithm algorithm) {
  const double inside = HopLatencyUs(Medium::kNvlink, algorithm, Protocol::kSimple);
  if (shape.nodes == 1) return inside;
  return inside + 2 * FloorLog2(shape.nodes) * NetworkHopUs(shape, algorithm, Protocol::kSimple);
}

// Multiprocessors that NVLS keeps busy (NVLS_NCHANNELS_SM90, _SM100).
std::uint32_t NvlsBlocks(const Shape& shape) {
  return shape.generation == Generation::kBlackwell ? 32 : 16;
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

bool Exists(const Call& call, const Shape& shape, Algorithm algorithm, Protocol protocol) {
  if (protocol == Protocol::kLl128 && !shape.nvlink) return false;
  switch (algorithm) {
    case Algorithm::kRing:
      return true;
    case Algorithm::kTree:
      return call.kind == Kind::kAllReduce;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      return call.kind == Kind::kAllReduce && protocol == Protocol::kSimple &&
             (algorithm == Algorithm::kNvls) == (shape.nodes == 1) && NvlsChannels(shape).count > 0;
    case Algorithm::kPointToPoint:
    case Algorithm::kCopy:
      return false;
  }
  return false;
}

bool Tuned(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kAllGather || kind == Kind::kReduceScatter ||
         kind == Kind::kBroadcast || kind == Kind::kReduce;
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

}  // namespace

std::optional<Cost> CellOf(const Call& call, const Shape& shape, Algorithm algorithm,
                           Protocol protocol) {
  CHECK(Tuned(call.kind) && shape.ranks > 1);
  if (!Exists(call, shape, algorithm, protocol)) return std::nullopt;
  double latency_us = 0;
  double gigabytes = 0;
  if (algorithm == Algorithm::kRing) {
    latency_us = RingLatencyUs(call, shape, protocol);
    gigabytes = RingBandwidth(call.kind, shape, protocol);
  } else if (algorithm == Algorithm::kTree) {
    latency_us = TreeLatencyUs(shape, protocol);
    gigabytes = TreeBandwidth(shape, protocol, call.bytes);
  } else {
    latency_us = NvlsLatencyUs(shape, algorithm);
    gigabytes = NvlsBandwidth(shape);
  }
  return Cost{.latency = Microseconds(latency_us),
              .transfer = Microseconds(static_cast<double>(call.bytes) / gigabytes * 1e-3),
              .algorithm = algorithm,
              .protocol = protocol,
              .channels = UsedChannels(call, shape, algorithm, protocol),
              .relative_error = RelativeError(call, shape)};
}

Cost CostOf(const Call& call, const Shape& shape) {
  CHECK(call.kind != Kind::kPointToPoint);
  if (shape.ranks == 1) return CopyCost(call);
  if (!Tuned(call.kind)) return ExchangeCost(call, shape);
  std::optional<Cost> best;
  for (Algorithm algorithm :
       {Algorithm::kTree, Algorithm::kRing, Algorithm::kNvls, Algorithm::kNvlsTree}) {
    for (Protocol protocol : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
      const auto cell = CellOf(call, shape, algorithm, protocol);
      if (cell && (!best || cell->Total() < best->Total())) best = cell;
    }
  }
  return *best;
}

float RelativeError(const Call& call, const Shape& shape) {
  // Mean absolute error against nccl-tests logs; rows: one server, two, four, more; columns: up to
  // 64 KiB, up to 16 MiB, above. Broadcasts and exchanges have fewer logs and count half as much
  // again.
  constexpr float kErrors[4][3] = {
      {0.35f, 0.20f, 0.06f}, {0.07f, 0.15f, 0.09f}, {0.07f, 0.20f, 0.08f}, {0.30f, 0.38f, 0.19f}};
  const int row = shape.nodes == 1 ? 0 : shape.nodes == 2 ? 1 : shape.nodes <= 4 ? 2 : 3;
  const int column = call.bytes <= 64 * 1024 ? 0 : call.bytes <= 16 * 1024 * 1024 ? 1 : 2;
  const bool logged = call.kind == Kind::kAllReduce || call.kind == Kind::kAllGather ||
                      call.kind == Kind::kReduceScatter;
  const float slots = shape.nvlink ? 1.0f : 2.0f;  // No PCIe server is among the logs.
  return std::min(1.0f, kErrors[row][column] * (logged ? 1.0f : 1.5f) * slots);
}

}  // namespace eidolon::network::collective
