// A log is compared with the same code that serves jobs: ShapeOf builds a topology from the log's
// few facts and asks for the shape as a communicator would. Each number of the file is parsed with
// bounds, since people edit it. Bus bandwidth uses nccl-tests' factors, so that numbers can be
// compared with those of a published table.
#include "services/network/validation/log_set.h"

#include <optional>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/network/collective/cost.h"
#include "services/network/collective/point_to_point.h"

namespace eidolon::network::validation {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using collective::Kind;
using collective::Shape;

std::optional<Kind> KindOf(std::string_view name) {
  for (int at = 0; at < collective::kKinds; ++at) {
    if (Name(static_cast<Kind>(at)) == name) return static_cast<Kind>(at);
  }
  return std::nullopt;
}

std::optional<Role> RoleOf(std::string_view name) {
  for (Role role : {Role::kFit, Role::kTest, Role::kOther}) {
    if (Name(role) == name) return role;
  }
  return std::nullopt;
}

Result<double> ParseField(std::string_view text, double least, double most) {
  const auto number = base::ParseNumber(text);
  if (!number || *number < least || *number > most) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("'", text, "' is not a number between ", least, " and ", most));
  }
  return *number;
}

Result<LogSet> ParseHead(const std::vector<std::string_view>& fields) {
  if (fields.size() != 12) return Fail(ErrorCode::kCorrupt, "a set has 12 fields");
  const auto kind = KindOf(fields[5]);
  if (!kind) return Fail(ErrorCode::kCorrupt, StrCat("unknown kind '", fields[5], "'"));
  const auto role = RoleOf(fields[10]);
  if (!role) return Fail(ErrorCode::kCorrupt, StrCat("unknown role '", fields[10], "'"));
  double numbers[4];
  for (std::size_t at = 0; at < 4; ++at) {
    const auto number = ParseField(fields[6 + at], at < 2 ? 1 : 0, 4096);
    if (!number) return std::unexpected(number.error());
    numbers[at] = *number;
  }
  return LogSet{.name = std::string(fields[1]),
                .site = std::string(fields[2]),
                .transport = std::string(fields[3]),
                .gpu = std::string(fields[4]),
                .kind = *kind,
                .nodes = static_cast<std::uint32_t>(numbers[0]),
                .members = static_cast<std::uint32_t>(numbers[1]),
                .nics = static_cast<std::uint32_t>(numbers[2]),
                .nic_gigabits_per_second = numbers[3],
                .role = *role,
                .source = std::string(fields[11]),
                .points = {}};
}

Result<void> ParseLine(std::string_view line, std::vector<LogSet>& sets) {
  const auto fields = base::Split(line, ',');
  if (fields.front() == "set") {
    auto set = ParseHead(fields);
    if (!set) return std::unexpected(set.error());
    sets.push_back(std::move(*set));
    return {};
  }
  if (sets.empty()) return Fail(ErrorCode::kCorrupt, "a row comes before the first set");
  if (fields.size() != 2) return Fail(ErrorCode::kCorrupt, "a row has 2 fields");
  const auto bytes = ParseField(fields[0], 1, 1e15);
  if (!bytes) return std::unexpected(bytes.error());
  const auto us = ParseField(fields[1], 1e-3, 1e12);
  if (!us) return std::unexpected(us.error());
  sets.back().points.push_back({static_cast<std::uint64_t>(*bytes), *us});
  return {};
}

std::uint32_t NvlinkGeneration(const LogSet& set) {
  const std::string& gpu = set.gpu;
  if (set.transport == "pcie") return 0;
  if (gpu == "A100") return 3;
  return gpu.starts_with("B") || gpu.starts_with("GB") ? 5 : 4;
}

}  // namespace

Result<std::vector<LogSet>> ParseLogSets(std::string_view text) {
  std::vector<LogSet> sets;
  std::size_t number = 0;
  for (std::string_view line : base::Split(text, '\n')) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (auto parsed = ParseLine(line, sets); !parsed) {
      return base::Wrap(StrCat("line ", number, " of the logs"), parsed.error());
    }
  }
  return sets;
}

Shape ShapeOf(const LogSet& set) {
  const auto topology = topology::Topology::Make(
      {.name = set.name,
       .servers = set.nodes,
       .gpus_per_server = set.gpu == "GH200" ? 4 : std::max(8u, set.members),
       .gpu = set.gpu,
       .nvlink_generation = NvlinkGeneration(set),
       .nvlink_switched = set.gpu != "GH200" && set.transport != "pcie",
       .nics = set.nics,
       .nic_gigabits_per_second = set.nic_gigabits_per_second,
       .nic_latency_microseconds = 0,
       .fabric = set.nodes > 1 ? "rail-optimised" : "none",
       .oversubscription = 1});
  CHECK(topology.has_value());
  std::vector<topology::Place> places;
  for (std::uint32_t node = 0; node < set.nodes; ++node) {
    for (std::uint32_t gpu = 0; gpu < set.members; ++gpu) places.push_back({node, gpu});
  }
  Shape shape = collective::ShapeOf(*topology, places);
  if (set.transport == "slingshot") shape.transport = collective::Transport::kSlingshot;
  return shape;
}

double ModelledUs(const LogSet& set, const Shape& shape, std::uint64_t bytes) {
  if (set.kind == Kind::kPointToPoint) {
    const auto span =
        set.nodes == 1 ? collective::Span::kSameServer : collective::Span::kBetweenServers;
    const auto cost = collective::TransferCostOf(shape, span, bytes);
    return (cost.latency + base::TransferTime(bytes, cost.bytes_per_second)).Seconds() * 1e6;
  }
  return collective::CostOf({.kind = set.kind, .bytes = bytes}, shape).Total().Seconds() * 1e6;
}

double TabledUs(const LogSet& set, const Shape& shape, std::uint64_t bytes) {
  if (set.kind == Kind::kPointToPoint) return ModelledUs(set, shape, bytes);
  return collective::TabledCostOf({.kind = set.kind, .bytes = bytes}, shape).Total().Seconds() *
         1e6;
}

double BusBandwidth(Kind kind, std::uint32_t ranks, std::uint64_t bytes, double us) {
  const double others = ranks - 1;
  double factor = 1;
  if (kind == Kind::kAllReduce) factor = 2 * others / ranks;
  if (kind == Kind::kAllGather || kind == Kind::kReduceScatter || kind == Kind::kAllToAll ||
      kind == Kind::kGather || kind == Kind::kScatter) {
    factor = others / ranks;
  }
  return static_cast<double>(bytes) * factor / us * 1e-3;
}

std::string_view Name(Role role) {
  switch (role) {
    case Role::kFit:
      return "fit";
    case Role::kTest:
      return "test";
    case Role::kOther:
      return "other";
  }
  return "unknown";
}

}  // namespace eidolon::network::validation
