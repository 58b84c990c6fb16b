// Systems that many people have.
#include <array>

#include "services/base/text.h"
#include "services/network/topology/document.h"

namespace eidolon::network::topology {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

Cluster Switched(std::string gpu, std::uint32_t nvlink, std::uint32_t nics, double gigabits) {
  return {.name = "cluster",
          .servers = 1,
          .gpus_per_server = 8,
          .gpu = std::move(gpu),
          .nvlink_generation = nvlink,
          .nvlink_switched = true,
          .nics = nics,
          .nic_gigabits_per_second = gigabits,
          .nic_latency_microseconds = 2,
          .fabric = "rail-optimised"};
}

// NVIDIA's user guides: DGX A100 has 8 compute cards of 200 Gbit/s, DGX H100 and H200 8 of 400.
Cluster DgxA100() { return Switched("A100-SXM4-80GB", 3, 8, 200); }
Cluster DgxH100() { return Switched("H100-SXM5-80GB", 4, 8, 400); }
Cluster DgxH200() { return Switched("H200-SXM-141GB", 4, 8, 400); }

// A rack of 18 trays with 4 GPUs and 4 cards of 400 Gbit/s each; racks meet over InfiniBand.
Cluster Nvl72() {
  Cluster cluster = Switched("GB200", 5, 4, 400);
  cluster.gpus_per_server = 4;
  cluster.servers_per_domain = 18;
  cluster.servers = 18;
  return cluster;
}

Cluster InfiniBand8x400() { return DgxH100(); }

// Ethernet's leaves take all cards of a server, and queue pairs keep to one way.
Cluster Roce8x400() {
  Cluster cluster = DgxH100();
  cluster.fabric = "leaf-spine";
  cluster.plan.routing = Routing::kEcmp;
  cluster.plan.cards_per_leaf = 64;
  return cluster;
}

// Four GH200 with a card of 200 Gbit/s each; groups of a dragonfly (CSCS Alps).
Cluster Slingshot200() {
  Cluster cluster = Switched("GH200", 4, 4, 200);
  cluster.gpus_per_server = 4;
  cluster.nvlink_switched = false;
  cluster.fabric = "dragonfly";
  cluster.plan.servers_per_router = 4;
  cluster.plan.routers_per_group = 32;
  cluster.slingshot = true;
  return cluster;
}

// Servers with 8 PCIe cards under two host bridges.
Cluster Ethernet2x100() {
  Cluster cluster = Switched("A100-PCIE-80GB", 0, 2, 100);
  cluster.nvlink_switched = false;
  cluster.host_bridges = 2;
  cluster.nic_latency_microseconds = 5;
  cluster.fabric = "leaf-spine";
  cluster.plan.routing = Routing::kEcmp;
  return cluster;
}

struct Preset {
  std::string_view name;
  Cluster (*make)();
};

constexpr std::array<Preset, 8> kPresets = {{{"dgx-a100", DgxA100},
                                             {"dgx-h100", DgxH100},
                                             {"dgx-h200", DgxH200},
                                             {"gb200-nvl72", Nvl72},
                                             {"ib-8x400", InfiniBand8x400},
                                             {"roce-8x400", Roce8x400},
                                             {"slingshot-200", Slingshot200},
                                             {"ethernet-2x100", Ethernet2x100}}};

}  // namespace

base::Result<Cluster> ClusterPreset(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.make();
  }
  return Fail(ErrorCode::kNotFound, StrCat("preset '", name, "' is unknown; known are ",
                                           base::Join(ClusterPresets(), ", ")));
}

std::vector<std::string> ClusterPresets() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

}  // namespace eidolon::network::topology
