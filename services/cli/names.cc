#include "services/cli/names.h"

#include <algorithm>
#include <cctype>

#include "services/base/text.h"
#include "services/cli/columns.h"
#include "services/contract/cluster/fabric_spec.h"
#include "services/contract/cluster/presets.h"

namespace eidolon::cli {
namespace {

using base::StrCat;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

std::optional<std::string> CompleteName(std::string_view word, std::span<const std::string> names) {
  const std::string lower = Lower(word);
  if (std::ranges::find(names, word) != names.end()) return std::string(word);
  const std::string* found = nullptr;
  for (const std::string& name : names) {
    const std::string candidate = Lower(name);
    if (candidate == lower) return name;
    if (lower.empty() || !candidate.starts_with(lower)) continue;
    if (found != nullptr) return std::nullopt;
    found = &name;
  }
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void CompletePreset(std::string* preset) {
  *preset = CompleteName(*preset, cluster::PresetNames()).value_or(*preset);
}

void CompleteFabric(std::string* fabric) {
  *fabric = CompleteName(*fabric, cluster::FabricKinds()).value_or(*fabric);
}

std::string FormatPresets() {
  std::vector<std::vector<std::string>> rows = {
      {"PRESET", "GPU", "GPUS", "NVLINK", "NICS", "SERVERS", "FABRIC"}};
  for (const std::string& name : cluster::PresetNames()) {
    const cluster::ClusterSpec spec = cluster::MakePreset(name);
    const std::string nvlink =
        StrCat(spec.nvlink_generation, spec.nvlink_switched ? "" : " direct");
    rows.push_back({name, spec.gpu, StrCat(spec.gpus_per_server),
                    spec.nvlink_generation == 0 ? "-" : nvlink,
                    StrCat(spec.nic_count, " x ", spec.nic_gigabits_per_second, " Gbit/s"),
                    StrCat(spec.servers), spec.fabric.kind});
  }
  return FormatColumns(rows) +
         "\nGPUS, NVLINK and NICS are of a server; --servers says how many there are.\n";
}

std::string FormatFabrics() {
  const auto about = [](std::string_view kind) -> std::string {
    if (kind == "rail-optimised") {
      return "one leaf for each rail of a group of servers; leaves meet in spines";
    }
    if (kind == "leaf-spine") return "all NICs of a few servers on one leaf; leaves meet in spines";
    if (kind == "fat-tree")
      return "leaf-spine with a tier more: leaves meet in pods, pods in a core";
    if (kind == "dragonfly") return "routers of a group are all connected, and so are groups";
    if (kind == "torus") return "servers on a grid that closes in each dimension";
    if (kind == "graph") return "switches and cables as the document lists them";
    return "";
  };
  std::vector<std::vector<std::string>> rows = {{"FABRIC", "WHAT IT IS", "PRESETS"}};
  for (const std::string& kind : cluster::FabricKinds()) {
    std::vector<std::string> presets;
    for (const std::string& name : cluster::PresetNames()) {
      if (cluster::MakePreset(name).fabric.kind == kind) presets.push_back(name);
    }
    rows.push_back({kind, about(kind), presets.empty() ? "-" : base::Join(presets, " ")});
  }
  rows.push_back({"none", "servers are not connected", "-"});
  return FormatColumns(rows);
}

}  // namespace eidolon::cli
