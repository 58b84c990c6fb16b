// The table has the columns of nccl-tests, so that it can be read beside a measured one: algbw is
// bytes over time, and busbw scales it by the factor of the collective (n ranks: 2 (n-1)/n for an
// all-reduce), which makes it comparable with a link. A time is the latency plus the transfer, and
// the transfer takes as long as the slower one of NCCL's own rate and the fabric. A note says where
// the fabric was slower. The same functions cost collectives in jobs.
#include "services/cli/net/collective_table.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "services/base/text.h"
#include "services/network/collective/cost.h"
#include "services/network/collective/point_to_point.h"
#include "services/network/collective/traffic.h"
#include "services/network/topology/document.h"
#include "services/network/validation/log_set.h"

namespace eidolon::cli::net {
namespace {

namespace collective = network::collective;
namespace topology = network::topology;

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 50;

Result<collective::Kind> KindOf(const std::string& name) {
  std::vector<std::string> known;
  for (int at = 0; at < collective::kKinds; ++at) {
    const auto kind = static_cast<collective::Kind>(at);
    if (Name(kind) == name) return kind;
    known.emplace_back(Name(kind));
  }
  return Fail(ErrorCode::kInvalidArgument,
              StrCat("collective '", name, "' is unknown; known are ", base::Join(known, ", ")));
}

Result<std::map<std::string, std::string>> Environment(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> environment;
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Fail(ErrorCode::kInvalidArgument, StrCat("'", setting, "' is not NAME=VALUE"));
    }
    environment[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return environment;
}

// A communicator on a cluster.
struct Setting {
  topology::Topology topology;
  std::vector<topology::Place> places;
  collective::Shape shape;
};

Result<Setting> SettingOf(const CollectiveOptions& options) {
  const auto found = FindCluster(options.topology, options.servers);
  if (!found) return std::unexpected(found.error());
  const topology::Cluster& cluster = *found;
  auto made = topology::Topology::Make(cluster);
  if (!made) return std::unexpected(made.error());
  const std::uint32_t members = options.members == 0 ? cluster.gpus_per_server : options.members;
  if (members > cluster.gpus_per_server) {
    return Fail(ErrorCode::kInvalidArgument, StrCat("--members is ", members, ", but a server has ",
                                                    cluster.gpus_per_server, " GPUs"));
  }
  std::vector<topology::Place> places;
  for (std::uint32_t server = 0; server < cluster.servers; ++server) {
    for (std::uint32_t device = 0; device < members; ++device) places.push_back({server, device});
  }
  const auto environment = Environment(options.environment);
  if (!environment) return std::unexpected(environment.error());
  auto tuning = collective::ParseTuning(*environment);
  if (!tuning) return std::unexpected(tuning.error());
  collective::Shape shape = collective::ShapeOf(*made, places);
  shape.tuning = std::move(*tuning);
  return Setting{std::move(*made), std::move(places), std::move(shape)};
}

struct Line {
  double us = 0;
  std::string algorithm, protocol;
  std::uint32_t channels = 0;
  float error = 0;
  bool fabric_bound = false;
};

Line Compute(collective::Kind kind, const Setting& setting, std::uint64_t bytes) {
  const collective::Shape& shape = setting.shape;
  if (kind == collective::Kind::kPointToPoint) {
    const auto span = shape.ranks == 1   ? collective::Span::kSameGpu
                      : shape.nodes == 1 ? collective::Span::kSameServer
                                         : collective::Span::kBetweenServers;
    const auto cost = collective::TransferCostOf(shape, span, bytes);
    const auto transfer = base::TransferTime(bytes, cost.bytes_per_second);
    const auto uses = collective::TrafficBetween(setting.topology, setting.places.front(),
                                                 setting.places.back(), cost.bytes_per_second);
    const auto took = collective::TimeOver(setting.topology, uses, transfer);
    return {(cost.latency + took).Seconds() * 1e6,
            "p2p",
            std::string(Name(cost.protocol)),
            cost.channels,
            cost.relative_error,
            took > transfer};
  }
  const auto cost = collective::CostOf({.kind = kind, .bytes = bytes}, shape);
  const collective::Load load{.kind = kind, .bytes = bytes, .pxn = shape.tuning.pxn};
  const auto uses = collective::TrafficOf(setting.topology, setting.places, load, cost);
  const auto took = collective::TimeOver(setting.topology, uses, cost.transfer);
  return {(cost.latency + took).Seconds() * 1e6,
          std::string(Name(cost.algorithm)),
          std::string(Name(cost.protocol)),
          cost.channels,
          cost.relative_error,
          took > cost.transfer};
}

}  // namespace

Result<topology::Cluster> FindCluster(const std::string& topology, std::uint32_t servers) {
  const auto presets = topology::ClusterPresets();
  const bool preset = std::find(presets.begin(), presets.end(), topology) != presets.end();
  const bool file = topology.find_first_of("./") != std::string::npos;
  auto cluster =
      preset || !file ? topology::ClusterPreset(topology) : topology::LoadCluster(topology);
  if (cluster && servers > 0) cluster->servers = servers;
  return cluster;
}

Result<std::string> CollectiveTable(const CollectiveOptions& options) {
  const auto kind = KindOf(options.kind);
  if (!kind) return std::unexpected(kind.error());
  if (options.bytes_min == 0 || options.bytes_min > options.bytes_max ||
      options.bytes_max > kBytesMax || options.factor < 2) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("sizes go from ", options.bytes_min, " to ", options.bytes_max,
                       "; they must be 1 to 2^50 bytes, the smallest first"));
  }
  const auto setting = SettingOf(options);
  if (!setting) return std::unexpected(setting.error());
  const collective::Shape& shape = setting->shape;
  std::string text = StrCat("# ", options.kind, ", ", shape.ranks, " ranks on ", shape.nodes,
                            " nodes of ", options.topology, "\n");
  for (const std::string& variable : shape.tuning.unmodelled) {
    text += StrCat("# ", variable, " has no effect in the model\n");
  }
  char line[160];
  std::snprintf(line, sizeof line, "#%13s %12s %9s %9s  %-14s %-7s %8s %7s\n", "size", "time",
                "algbw", "busbw", "algorithm", "proto", "channels", "error");
  text += line;
  std::snprintf(line, sizeof line, "#%13s %12s %9s %9s  %-14s %-7s %8s %7s\n", "(B)", "(us)",
                "(GB/s)", "(GB/s)", "", "", "", "(%)");
  text += line;
  bool bound = false;
  for (std::uint64_t bytes = options.bytes_min; bytes <= options.bytes_max;
       bytes *= options.factor) {
    const Line row = Compute(*kind, *setting, bytes);
    bound = bound || row.fabric_bound;
    std::snprintf(
        line, sizeof line, "%14llu %12.2f %9.2f %9.2f  %-14s %-7s %8u %7.0f\n",
        static_cast<unsigned long long>(bytes), row.us, static_cast<double>(bytes) / row.us * 1e-3,
        network::validation::BusBandwidth(*kind, shape.ranks, bytes, row.us), row.algorithm.c_str(),
        row.protocol.c_str(), row.channels, static_cast<double>(row.error) * 100);
    text += line;
  }
  if (bound) {
    text +=
        "# the fabric is too narrow for some of these: they take longer than NCCL's NICs need\n";
  }
  return text;
}

}  // namespace eidolon::cli::net
