#include "services/cluster/presets.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "services/base/check.h"

namespace eidolon::controller::job {
namespace {

struct Preset {
  std::string_view name;
  std::string_view gpu;
  std::uint32_t gpus;
  std::uint32_t nvlink_generation;
  bool nvlink_switched;
  std::uint32_t nics;
  double nic_gigabits_per_second;
  std::uint32_t servers_per_domain = 1;
};

// NVIDIA DGX data sheets: GPUs, NVLink generation, compute-fabric NICs (storage NICs are left out).
// A GB200 NVL72 is 18 trays of 4 GPUs in one NVLink domain; a server is a tray.
// The hgx presets are the same boards in other vendors' servers, with one NIC per GPU.
constexpr std::array<Preset, 11> kPresets = {{
    {"dgx-a100", "A100-SXM4-80GB", 8, 3, true, 8, 200},
    {"dgx-a100-40gb", "A100-SXM4-40GB", 8, 3, true, 8, 200},
    {"dgx-b200", "B200-SXM-180GB", 8, 5, true, 8, 400},
    {"dgx-h100", "H100-SXM5-80GB", 8, 4, true, 8, 400},
    {"dgx-h200", "H200-SXM-141GB", 8, 4, true, 8, 400},
    {"gb200-nvl72", "GB200", 4, 5, true, 4, 400, 18},
    {"hgx-a100", "A100-SXM4-80GB", 8, 3, true, 8, 200},
    {"hgx-a100-4", "A100-SXM4-80GB", 4, 3, false, 4, 200},
    {"hgx-b200", "B200-SXM-180GB", 8, 5, true, 8, 400},
    {"hgx-h100", "H100-SXM5-80GB", 8, 4, true, 8, 400},
    {"hgx-h100-4", "H100-SXM5-80GB", 4, 4, false, 4, 400},
}};

}  // namespace

std::vector<std::string> ServerPresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

void ApplyServerPreset(const std::string& name, ClusterSpec* spec) {
  const auto preset = std::find_if(kPresets.begin(), kPresets.end(),
                                   [&](const Preset& p) { return p.name == name; });
  CHECK(preset != kPresets.end());
  spec->gpu = preset->gpu;
  spec->gpus_per_server = preset->gpus;
  spec->nvlink_generation = preset->nvlink_generation;
  spec->nvlink_switched = preset->nvlink_switched;
  spec->nic_count = preset->nics;
  spec->nic_gigabits_per_second = preset->nic_gigabits_per_second;
  spec->nic_latency_microseconds = 2.0;
  spec->servers_per_domain = preset->servers_per_domain;
}

}  // namespace eidolon::controller::job
