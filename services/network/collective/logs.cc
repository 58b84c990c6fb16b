#include "services/network/collective/logs.h"

#include <array>
#include <fstream>
#include <optional>
#include <sstream>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/network/collective/cost.h"
#include "services/network/collective/point_to_point.h"

namespace eidolon::network::collective {
namespace {

using base::ErrorCode;
using base::Fail;

std::optional<Kind> KindOf(std::string_view name) {
  for (int at = 0; at <= static_cast<int>(Kind::kPointToPoint); ++at) {
    if (Name(static_cast<Kind>(at)) == name) return static_cast<Kind>(at);
  }
  return std::nullopt;
}

base::Result<LogRow> ParseRow(std::string_view line) {
  const auto fields = base::Split(line, ',');
  if (fields.size() != 9) return Fail(ErrorCode::kCorrupt, "a log row has 9 fields");
  const auto kind = KindOf(fields[1]);
  std::array<std::optional<double>, 6> numbers;
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    numbers[at] = base::ParseNumber(fields[at + 2]);
    if (!numbers[at] || *numbers[at] < 0 || *numbers[at] > 1e12) {
      return Fail(ErrorCode::kCorrupt, base::StrCat("'", fields[at + 2], "' is not a number"));
    }
  }
  if (!kind) return Fail(ErrorCode::kCorrupt, base::StrCat("unknown kind '", fields[1], "'"));
  return LogRow{.gpu = std::string(fields[0]),
                .kind = *kind,
                .nodes = static_cast<std::uint32_t>(*numbers[0]),
                .members_per_node = static_cast<std::uint32_t>(*numbers[1]),
                .nics = static_cast<std::uint32_t>(*numbers[2]),
                .nic_gigabits_per_second = *numbers[3],
                .bytes = static_cast<std::uint64_t>(*numbers[4]),
                .measured_us = *numbers[5]};
}

}  // namespace

base::Result<std::vector<LogRow>> ParseLogs(std::string_view text) {
  std::vector<LogRow> rows;
  bool header = true;
  for (std::string_view line : base::Split(text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    if (std::exchange(header, false)) continue;
    auto row = ParseRow(line);
    if (!row) return base::Wrap(base::StrCat("row '", line, "'"), row.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

base::Result<std::vector<LogRow>> LoadLogs(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, base::StrCat("cannot open ", path));
  std::ostringstream text;
  text << file.rdbuf();
  return ParseLogs(text.str());
}

Shape ShapeOf(const LogRow& row) {
  const bool ampere = row.gpu == "A100";
  const auto topology =
      topology::Topology::Make({.name = "log",
                                .servers = row.nodes,
                                .gpus_per_server = 8,
                                .gpu = row.gpu,
                                .nvlink_generation = ampere ? 3u : 4u,
                                .nvlink_switched = true,
                                .nics = row.nics,
                                .nic_gigabits_per_second = row.nic_gigabits_per_second,
                                .nic_latency_microseconds = 0,
                                .fabric = row.nodes > 1 ? "rail-optimised" : "none",
                                .oversubscription = 1});
  CHECK(topology.has_value());
  std::vector<topology::Place> places;
  for (std::uint32_t node = 0; node < row.nodes; ++node) {
    for (std::uint32_t gpu = 0; gpu < row.members_per_node; ++gpu) places.push_back({node, gpu});
  }
  return ShapeOf(*topology, places);
}

double ModelledUs(const LogRow& row) {
  const Shape shape = ShapeOf(row);
  if (row.kind == Kind::kPointToPoint) {
    const TransferCost cost = TransferCostOf(
        shape, row.nodes == 1 ? Span::kSameServer : Span::kBetweenServers, row.bytes);
    return (cost.latency + base::TransferTime(row.bytes, cost.bytes_per_second)).Seconds() * 1e6;
  }
  return CostOf({.kind = row.kind, .bytes = row.bytes}, shape).Total().Seconds() * 1e6;
}

double BusBandwidth(const LogRow& row, double us) {
  const double ranks = row.nodes * row.members_per_node;
  double factor = 1;
  if (row.kind == Kind::kAllReduce) factor = 2 * (ranks - 1) / ranks;
  if (row.kind == Kind::kAllGather || row.kind == Kind::kReduceScatter ||
      row.kind == Kind::kAllToAll) {
    factor = (ranks - 1) / ranks;
  }
  return static_cast<double>(row.bytes) * factor / us * 1e-3;
}

}  // namespace eidolon::network::collective
