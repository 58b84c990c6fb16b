// NCCL searches the graph of a server for rings and tries their rates in fixed steps. The servers
// here are regular, so the result of that search follows from a few numbers, and no graph is
// searched. The steps matter: a slightly faster NIC may change nothing, and a slightly slower one
// costs a whole step. NCCL splits each ring that it finds in two, hence twice the count at half the
// rate. Limits of the user (NCCL_MAX_NCHANNELS and the like) change the count, and one thread block
// bounds the rate.
#include "services/network/collective/shape.h"

#include <algorithm>
#include <map>
#include <set>

#include "services/base/check.h"

namespace eidolon::network::collective {
namespace {

using topology::Generation;

// NCCL's network latencies include a NIC and switches of an InfiniBand fabric; only what a cluster
// states beyond this is added to a hop.
constexpr double kUsualNicLatencyUs = 2.0;

// The steps in which NCCL's search tries rates, GB/s (src/graph/search.cc).
constexpr double kStepsAmpere[] = {48, 30, 28, 24, 22, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2};
constexpr double kStepsHopper[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2};
constexpr double kStepsBlackwell[] = {96, 48,   45, 42, 40, 30, 24,  22,
                                      20, 17.5, 15, 12, 6,  3,  2.4, 1.2};
constexpr double kStepsNvls[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 15, 12, 11, 6, 3};

// The largest step that `limit` allows; below all steps the limit itself.
double Quantise(std::span<const double> steps, double limit) {
  for (double step : steps) {
    if (step <= limit) return step;
  }
  return limit;
}

std::span<const double> StepsOf(Generation generation) {
  switch (generation) {
    case Generation::kVolta:
    case Generation::kAmpere:
      return kStepsAmpere;
    case Generation::kHopper:
      return kStepsHopper;
    case Generation::kBlackwell:
      return kStepsBlackwell;
  }
  return kStepsHopper;
}

// Rate of one ring inside a server before NCCL splits it in two.
double RingStep(Generation generation) {
  switch (generation) {
    case Generation::kVolta:
    case Generation::kAmpere:
      return 20;
    case Generation::kHopper:
      return 30;
    case Generation::kBlackwell:
      return 60;
  }
  return 20;
}

Channels Limit(const Shape& shape, Channels channels) {
  const double total = channels.count * channels.rate;
  const std::uint32_t count =
      std::max(std::min(channels.count, shape.tuning.channels_max), shape.tuning.channels_min);
  if (count == channels.count) return channels;
  return {count, std::min(total / count, ChannelRate(shape.generation))};
}

}  // namespace

std::string_view Name(Transport transport) {
  switch (transport) {
    case Transport::kInfiniband:
      return "infiniband";
    case Transport::kSlingshot:
      return "slingshot";
    case Transport::kPcie:
      return "pcie";
  }
  return "unknown";
}

double ChannelRate(Generation generation) {
  switch (generation) {
    case Generation::kVolta:
    case Generation::kAmpere:
      return 24;
    case Generation::kHopper:
      return 40;
    case Generation::kBlackwell:
      return 70;
  }
  return 24;
}

Shape ShapeOf(const topology::Topology& topology, std::span<const topology::Place> places) {
  CHECK(!places.empty());
  const topology::Wiring& wiring = topology.wiring();
  std::map<std::uint32_t, std::uint32_t> members;
  std::map<std::uint32_t, std::set<std::pair<std::uint32_t, std::uint32_t>>> nics;
  std::set<std::uint32_t> bridges;
  for (const topology::Place& place : places) {
    CHECK(topology.Contains(place));
    const std::uint32_t node = topology.DomainOf(place.server);
    ++members[node];
    if (wiring.rails > 0) {
      nics[node].insert({place.server, topology.RailOf(place.device)});
    }
    bridges.insert(place.device * wiring.cluster.host_bridges / wiring.cluster.gpus_per_server);
  }
  Shape shape;
  shape.ranks = static_cast<std::uint32_t>(places.size());
  shape.nodes = static_cast<std::uint32_t>(members.size());
  shape.local_min = shape.ranks;
  for (const auto& [node, count] : members) {
    shape.local_min = std::min(shape.local_min, count);
    shape.local_max = std::max(shape.local_max, count);
  }
  shape.generation = wiring.generation;
  shape.nvlink = wiring.nvlink;
  shape.switched = wiring.cluster.nvlink_switched;
  shape.gpu_rate = static_cast<double>(wiring.gpu_rate) * 1e-9;
  if (!wiring.nvlink && bridges.size() > 1) {
    // A ring crosses each bridge once.
    shape.bridged = true;
    shape.gpu_rate = std::min(shape.gpu_rate, static_cast<double>(wiring.bridge_rate) * 1e-9);
  }
  shape.transport = wiring.cluster.slingshot ? Transport::kSlingshot : Transport::kInfiniband;
  shape.in_network_reduction = wiring.cluster.in_network_reduction;
  if (wiring.rails > 0) {
    std::size_t fewest = wiring.rails;
    fewest *= wiring.cluster.servers_per_domain;
    for (const auto& [node, used] : nics) fewest = std::min(fewest, used.size());
    const std::uint32_t per_rail = std::max(1u, wiring.cluster.nics / wiring.rails);
    shape.nics = static_cast<std::uint32_t>(fewest) * per_rail;
    shape.nic_line_rate = static_cast<double>(wiring.line_rate) * 1e-9 / per_rail;
  }
  shape.hop_extra_us = std::max(0.0, wiring.cluster.nic_latency_microseconds - kUsualNicLatencyUs);
  return shape;
}

Channels RingChannels(const Shape& shape) {
  if (shape.nodes > 1) {
    // One ring per NIC, at the highest step that NIC and NVLink allow; then split in two.
    double limit = shape.nic_line_rate;
    if (shape.local_max > 1) limit = std::min(limit, shape.gpu_rate / shape.nics);
    return Limit(shape, {2 * shape.nics, Quantise(StepsOf(shape.generation), limit) / 2});
  }
  // Through a PCIe root complex 6/5 of the bytes cross the link.
  if (!shape.nvlink) return Limit(shape, {2, shape.gpu_rate * 5 / 6 / 2});
  const double step = std::min(RingStep(shape.generation), shape.gpu_rate);
  return Limit(shape,
               {2 * std::max(1u, static_cast<std::uint32_t>(shape.gpu_rate / step)), step / 2});
}

Channels NvlsChannels(const Shape& shape) {
  const bool capable =
      shape.switched && shape.nvlink && shape.tuning.nvls &&
      (shape.generation == Generation::kHopper || shape.generation == Generation::kBlackwell);
  if (!capable || shape.local_min <= 2 || shape.local_min != shape.local_max) return {};
  const bool blackwell = shape.generation == Generation::kBlackwell;
  const std::uint32_t count = shape.local_max * (blackwell ? 2 : 1);
  double limit = shape.gpu_rate / count;
  if (shape.nodes > 1) {
    limit = std::min(limit, shape.nic_line_rate * shape.nics / count);
    return {count, Quantise(StepsOf(shape.generation), limit)};
  }
  // The steps for one server lack 45 on Hopper: 8 GPUs get 40 each. On Blackwell at most 70: four
  // B300 still go round rings at 4 MiB, and four B200 do so at 8 MiB with two of four versions of
  // NCCL (validation/nccl_logs.csv and its source); at 90 NVLS would win from 4 MiB on.
  const double step = Quantise(kStepsNvls, limit);
  if (blackwell) return {count, std::min(step, 70.0)};
  return {count, step == 45 ? 40 : std::min(step, 60.0)};
}

}  // namespace eidolon::network::collective
