// NCCL does not give a send the line rate. It spreads the send over a number of channels, each of
// which moves what one thread block can, and a communicator of many ranks leaves fewer channels for
// each peer. So a rate is channels times the rate of one, up to a measured share of the port. The
// protocol LL halves the rate, because half of its bytes are flags. An exchange keeps several peers
// in flight: its time is that of the busiest port, and its latency counts a fraction of each
// network step.
#include "services/network/collective/point_to_point.h"

#include <algorithm>
#include <bit>

#include "services/base/check.h"
#include "services/network/collective/nccl_tables.h"

namespace eidolon::network::collective {
namespace {

using base::Duration;

// Fitted to sendrecv logs of 8 H100 (github.com/xxrjun/nccl-tests-cluster): 2 channels carry 80
// GB/s, 4 carry 163, and the ceiling is 0.99 of the NVLink rate.
constexpr double kNvlinkShare = 0.985;
// sendrecv sustains 40 to 46 GB/s on a 400 Gbit/s NIC, all-to-all up to 49.
constexpr double kNicShareSendReceive = 0.86;
constexpr double kNicShareExchange = 0.978;
// Doubling of channels: while a part is larger than this.
constexpr std::uint64_t kPartMaxInside = 32u << 20;
constexpr std::uint64_t kLlPartMax = 16u << 10;
constexpr std::uint64_t kCopyRate = 1'200'000'000'000;
// Exchanges keep several peers in flight, so a network step costs a fraction of a lone one.
constexpr double kPeersInFlight = 4;

Medium MediumOf(const Shape& shape, Span span) {
  if (span == Span::kBetweenServers) return Medium::kNetwork;
  return shape.nvlink ? Medium::kNvlink : Medium::kPcie;
}

std::uint32_t ChannelsFor(const Shape& shape, Span span, std::uint64_t bytes) {
  const std::uint32_t most = std::bit_floor(RingChannels(shape).count);
  std::uint32_t channels = most;
  while (channels > 1 && channels * shape.ranks > most) channels /= 2;
  if (span == Span::kBetweenServers) {
    // Two for a NIC, fewer when all peers together would crowd the channels; however long the
    // message is (NCCL 2.29 src/graph/paths.cc).
    channels = std::min(2u, most);
    while (channels > 1 && channels * shape.ranks > 4 * most) channels /= 2;
    return channels;
  }
  while (channels < most && bytes > kPartMaxInside * channels) channels *= 2;
  return channels;
}

// GB/s of one channel through a NIC. Ring sendrecv of 10 servers (github.com/xxrjun/
// nccl-tests-cluster): 25 with 10 to 40 ranks, 15 with 80, where NCCL uses one channel; the cause
// of the latter is not known.
double NetworkChannelRate(const Shape& shape) {
  constexpr std::uint32_t kManyRanks = 64;
  return shape.ranks <= kManyRanks ? 25.5 : 15.2;
}

std::uint64_t BytesPerSecond(double gigabytes) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(gigabytes * 1e9));
}

}  // namespace

TransferCost TransferCostOf(const Shape& shape, Span span, std::uint64_t bytes) {
  if (const auto& fixed = shape.tuning.fixed) {
    return {.latency = fixed->latency,
            .bytes_per_second = fixed->bytes_per_second,
            .channels = kFixedChannels,
            .protocol = Protocol::kSimple,
            .relative_error = 1};
  }
  if (span == Span::kSameGpu) {
    return {.latency = Duration::FromSeconds(
                BaseLatencyUs(Algorithm::kPointToPoint, Protocol::kSimple) * 1e-6),
            .bytes_per_second = kCopyRate,
            .channels = 1,
            .protocol = Protocol::kSimple,
            .relative_error = 0.3f};
  }
  const std::uint32_t channels = ChannelsFor(shape, span, bytes);
  const bool ll = bytes < kLlPartMax * channels;
  const Protocol protocol = ll ? Protocol::kLl : Protocol::kSimple;
  const double extra = span == Span::kBetweenServers ? shape.hop_extra_us : 0;
  const double latency_us =
      BaseLatencyUs(Algorithm::kPointToPoint, protocol) +
      HopLatencyUs(MediumOf(shape, span), Algorithm::kPointToPoint, protocol) + extra;
  // LL spends half of its bytes on flags.
  const double each =
      span == Span::kBetweenServers ? NetworkChannelRate(shape) : ChannelRate(shape.generation);
  double rate = channels * each * (ll ? 0.5 : 1.0);
  const double port = span == Span::kBetweenServers ? shape.nic_line_rate * kNicShareSendReceive
                                                    : shape.gpu_rate * kNvlinkShare;
  rate = std::min(rate, port);
  return {.latency = Duration::FromSeconds(latency_us * 1e-6),
          .bytes_per_second = BytesPerSecond(rate),
          .channels = channels,
          .protocol = protocol,
          .relative_error = bytes <= (16u << 20) ? 0.2f : 0.1f};
}

TransferCost TransferCostBetween(const topology::Topology& topology, const Shape& shape,
                                 const topology::Place& from, const topology::Place& to,
                                 std::uint64_t bytes) {
  if (from == to) return TransferCostOf(shape, Span::kSameGpu, bytes);
  const bool one_node = topology.DomainOf(from.server) == topology.DomainOf(to.server);
  return TransferCostOf(shape, one_node ? Span::kSameServer : Span::kBetweenServers, bytes);
}

Duration LeastTransferTime(const Shape& shape, std::uint64_t bytes) {
  Duration least{base::SimTime::Max().ps};
  for (const Span span : {Span::kSameGpu, Span::kSameServer, Span::kBetweenServers}) {
    const TransferCost cost = TransferCostOf(shape, span, bytes);
    least = std::min(least, cost.latency + base::TransferTime(bytes, cost.bytes_per_second));
  }
  return least;
}

Cost CostOfAnyTransfer(const Shape& shape, std::uint64_t bytes) {
  const Span span = shape.nodes > 1   ? Span::kBetweenServers
                    : shape.ranks > 1 ? Span::kSameServer
                                      : Span::kSameGpu;
  const TransferCost cost = TransferCostOf(shape, span, bytes);
  return {.latency = cost.latency,
          .transfer = base::TransferTime(bytes, cost.bytes_per_second),
          .algorithm = Algorithm::kPointToPoint,
          .protocol = cost.protocol,
          .channels = cost.channels,
          .relative_error = cost.relative_error,
          .at_least = LeastTransferTime(shape, bytes)};
}

Cost ExchangeCost(const Call& call, const Shape& shape) {
  CHECK(shape.ranks > 1);
  const double part = static_cast<double>(call.bytes) / shape.ranks;
  const std::uint32_t local_peers = shape.local_max - 1;
  const std::uint32_t remote_peers = shape.ranks - shape.local_min;
  const bool remote = shape.nodes > 1;
  const bool ll = part < static_cast<double>(kLlPartMax);
  const Protocol protocol = ll ? Protocol::kLl : Protocol::kSimple;
  const double wire = ll ? 2.0 : 1.0;

  // One member sends to all others, and for all-to-all the members of a server share its NICs.
  double seconds = part * wire * local_peers / (shape.gpu_rate * kNvlinkShare * 1e9);
  if (remote) {
    const bool shared = call.kind == Kind::kAllToAll;
    const double nics = shared ? shape.nics : std::max(1u, shape.nics / shape.local_max);
    const double senders = shared ? shape.local_max : 1;
    const double rate = shape.nic_line_rate * kNicShareExchange * 1e9 * nics;
    seconds = std::max(seconds, part * wire * remote_peers * senders / rate);
  }
  const Medium inside = shape.nvlink ? Medium::kNvlink : Medium::kPcie;
  const double hop_inside = HopLatencyUs(inside, Algorithm::kPointToPoint, protocol);
  const double hop_between =
      HopLatencyUs(Medium::kNetwork, Algorithm::kPointToPoint, protocol) + shape.hop_extra_us;
  const double latency_us = BaseLatencyUs(Algorithm::kPointToPoint, protocol) +
                            local_peers * hop_inside +
                            (remote ? remote_peers * hop_between / kPeersInFlight : 0);
  const std::uint32_t most = std::bit_floor(RingChannels(shape).count);
  return {.latency = Duration::FromSeconds(latency_us * 1e-6),
          .transfer = Duration::FromSeconds(std::min(seconds, kSecondsMax)),
          .algorithm = Algorithm::kPointToPoint,
          .protocol = protocol,
          .channels = most,
          .relative_error = RelativeError(call, shape)};
}

}  // namespace eidolon::network::collective
