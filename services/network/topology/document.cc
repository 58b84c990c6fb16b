#include "services/network/topology/document.h"

#include <utility>

#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/contract/cluster/cluster_spec.h"
#include "services/contract/cluster/document.h"
#include "services/contract/cluster/presets.h"
#include "services/contract/cluster/yaml_fields.h"

namespace eidolon::network::topology {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// Returns what the network needs of it.
Cluster FromSpec(cluster::ClusterSpec spec, std::string name) {
  return {.name = std::move(name),
          .servers = spec.servers,
          .gpus_per_server = spec.gpus_per_server,
          .gpu = spec.gpu,
          .nvlink_generation = spec.nvlink_generation,
          .nvlink_switched = spec.nvlink_switched,
          .nics = spec.nic_count,
          .nic_gigabits_per_second = spec.nic_gigabits_per_second,
          .nic_latency_microseconds = spec.nic_latency_microseconds,
          .fabric = spec.fabric.kind,
          .oversubscription = spec.fabric.oversubscription,
          .plan = std::move(spec.fabric),
          .servers_per_domain = spec.servers_per_domain,
          .host_bridges = spec.host_bridges,
          .slingshot = spec.slingshot,
          .in_network_reduction = spec.in_network_reduction,
          .faults = std::move(spec.faults),
          .background = std::move(spec.background)};
}

constexpr char kName[] = "cluster";

}  // namespace

Result<Cluster> ParseCluster(std::string_view text) {
  std::string name;
  std::string preset;
  cluster::ClusterSpec spec;
  const auto read = cluster::ReadYaml(text, [&](cluster::Fields& fields) {
    name = fields.Text("name", kName);
    if (const auto server = fields.Object("server")) preset = server->Text("preset", "");
    spec = cluster::ReadCluster(fields, {.fabric_as_needed = false});
  });
  // A preset by that name may be meant elsewhere too: the error is that of the preset itself.
  if (!preset.empty() && !cluster::IsPreset(preset)) return ClusterPreset(preset);
  if (!read) return std::unexpected(read.error());
  return FromSpec(std::move(spec), std::move(name));
}

Result<Cluster> LoadCluster(const std::string& path) {
  const auto text = base::ReadRegularFile(path);
  if (!text) return std::unexpected(text.error());
  auto cluster = ParseCluster(*text);
  if (!cluster) return base::Wrap(path, cluster.error());
  return cluster;
}

Result<Cluster> ClusterPreset(std::string_view name) {
  if (cluster::IsPreset(name)) return FromSpec(cluster::MakePreset(name), kName);
  return Fail(ErrorCode::kNotFound, StrCat("preset '", name, "' is unknown; known are ",
                                           base::Join(ClusterPresets(), ", ")));
}

std::vector<std::string> ClusterPresets() { return cluster::PresetNames(); }

}  // namespace eidolon::network::topology
