// A preset is one row, and what no column holds is a peculiarity with code of its own. Rows are
// sorted by name, because PresetNames promises that order. A new machine needs a row, the usual
// processor of its GPU (cpu_model.h), and a source for its numbers in the comment above the table.
#include "services/contract/cluster/presets.h"

#include <algorithm>
#include <array>

#include "services/base/check.h"
#include "services/contract/cluster/cpu_model.h"

namespace eidolon::cluster {
namespace {

// What sets a preset apart from eight GPUs with as many NICs on a rail-optimised network.
enum class Peculiarity { kNone, kRack, kEthernet, kSlingshot, kHostBridges };

struct Preset {
  std::string_view name;
  std::string_view gpu;
  std::uint32_t gpus;
  std::uint32_t nvlink_generation;
  bool nvlink_switched;
  std::uint32_t nics;
  double nic_gigabits_per_second;
  Peculiarity peculiarity = Peculiarity::kNone;
};

// NVIDIA DGX data sheets: GPUs, NVLink generation, compute-fabric NICs (storage NICs are left out).
// A GB200 NVL72 is 18 trays of 4 GPUs in one NVLink domain; a server is a tray, and racks meet over
// InfiniBand. The hgx presets are the same boards in other vendors' servers, with one NIC per GPU;
// ib-8x400 and roce-8x400 are such servers on InfiniBand and on Ethernet. slingshot-200 has four
// GH200 with a NIC each, in groups of a dragonfly (CSCS Alps); ethernet-2x100 PCIe NICs under two
// host bridges.
constexpr std::array<Preset, 15> kPresets = {{
    {"dgx-a100", "A100-SXM4-80GB", 8, 3, true, 8, 200},
    {"dgx-a100-40gb", "A100-SXM4-40GB", 8, 3, true, 8, 200},
    {"dgx-b200", "B200-SXM-180GB", 8, 5, true, 8, 400},
    {"dgx-h100", "H100-SXM5-80GB", 8, 4, true, 8, 400},
    {"dgx-h200", "H200-SXM-141GB", 8, 4, true, 8, 400},
    {"ethernet-2x100", "A100-PCIE-80GB", 8, 0, false, 2, 100, Peculiarity::kHostBridges},
    {"gb200-nvl72", "GB200", 4, 5, true, 4, 400, Peculiarity::kRack},
    {"hgx-a100", "A100-SXM4-80GB", 8, 3, true, 8, 200},
    {"hgx-a100-4", "A100-SXM4-80GB", 4, 3, false, 4, 200},
    {"hgx-b200", "B200-SXM-180GB", 8, 5, true, 8, 400},
    {"hgx-h100", "H100-SXM5-80GB", 8, 4, true, 8, 400},
    {"hgx-h100-4", "H100-SXM5-80GB", 4, 4, false, 4, 400},
    {"ib-8x400", "H100-SXM5-80GB", 8, 4, true, 8, 400},
    {"roce-8x400", "H100-SXM5-80GB", 8, 4, true, 8, 400, Peculiarity::kEthernet},
    {"slingshot-200", "GH200", 4, 4, false, 4, 200, Peculiarity::kSlingshot},
}};

// Ethernet's leaves take all NICs of a server, and queue pairs keep to one route.
void UseEthernet(ClusterSpec& spec) {
  spec.fabric.kind = "leaf-spine";
  spec.fabric.routing = Routing::kEcmp;
}

void Apply(Peculiarity peculiarity, ClusterSpec& spec) {
  switch (peculiarity) {
    case Peculiarity::kNone:
      break;
    case Peculiarity::kRack:
      spec.servers = 18;
      spec.servers_per_domain = 18;
      break;
    case Peculiarity::kEthernet:
      UseEthernet(spec);
      spec.fabric.cards_per_leaf = 64;
      break;
    case Peculiarity::kSlingshot:
      spec.fabric.kind = "dragonfly";
      spec.fabric.servers_per_router = 4;
      spec.fabric.routers_per_group = 32;
      spec.slingshot = true;
      break;
    case Peculiarity::kHostBridges:
      UseEthernet(spec);
      spec.host_bridges = 2;
      spec.nic_latency_microseconds = 5.0;
      break;
  }
}

const Preset* Find(std::string_view name) {
  const auto* const found = std::find_if(kPresets.begin(), kPresets.end(),
                                         [&](const Preset& p) { return p.name == name; });
  return found == kPresets.end() ? nullptr : found;
}

}  // namespace

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

bool IsPreset(std::string_view name) { return Find(name) != nullptr; }

ClusterSpec MakePreset(std::string_view name) {
  const Preset* const preset = Find(name);
  CHECK(preset != nullptr);
  ClusterSpec spec;
  spec.gpu = preset->gpu;
  spec.cpu = UsualCpuOf(preset->gpu);
  spec.gpus_per_server = preset->gpus;
  spec.nvlink_generation = preset->nvlink_generation;
  spec.nvlink_switched = preset->nvlink_switched;
  spec.nic_count = preset->nics;
  spec.nic_gigabits_per_second = preset->nic_gigabits_per_second;
  spec.nic_latency_microseconds = 2.0;
  spec.fabric.kind = "rail-optimised";
  Apply(preset->peculiarity, spec);
  return spec;
}

}  // namespace eidolon::cluster
