#include "services/controller/job/cluster.h"

#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/controller/job/preset.h"

namespace eidolon::controller::job {
namespace {

constexpr std::int64_t kServersMax = 4096;
constexpr std::int64_t kSpines = 8;
constexpr double kFaultSecondsMax = 2e6;
constexpr std::int64_t kGpusPerServerMax = 72;
constexpr char kDriverVersion[] = "580.82";
constexpr char kNcclVersion[] = "2.30.7";

// NVLink generation of a GPU named by its model, when no preset says it: by architecture, SXM
// boards only.
std::uint32_t NvlinkGenerationOf(const std::string& gpu) {
  if (gpu.find("PCIe") != std::string::npos) return 0;
  if (gpu.starts_with("A100")) return 3;
  if (gpu.starts_with("H100") || gpu.starts_with("H200")) return 4;
  if (gpu.starts_with("B200") || gpu.starts_with("GB200")) return 5;
  return 0;
}

void ReadServer(Fields* server, ClusterSpec* spec) {
  const std::string preset = server->Choice("preset", ServerPresetNames(), "");
  if (!preset.empty()) ApplyServerPreset(preset, spec);
  const std::string gpu = server->Text("gpu", spec->gpu);
  if (preset.empty() && !gpu.empty()) {
    spec->nvlink_generation = NvlinkGenerationOf(gpu);
    spec->nvlink_switched = spec->nvlink_generation > 0;
  }
  spec->gpu = gpu;
  spec->gpus_per_server = static_cast<std::uint32_t>(
      server->Integer("gpusPerServer", {1, kGpusPerServerMax}, spec->gpus_per_server));
  if (auto nvlink = server->Object("nvlink")) {
    spec->nvlink_generation =
        static_cast<std::uint32_t>(nvlink->Integer("generation", {0, 6}, spec->nvlink_generation));
    spec->nvlink_switched = nvlink->Bool("switch", spec->nvlink_switched);
    nvlink->Finish();
  }
  if (spec->nic_count == 0) {
    spec->nic_count = spec->gpus_per_server;
    spec->nic_gigabits_per_second = 400;
    spec->nic_latency_microseconds = 2.0;
  }
  if (auto nics = server->Object("nics")) {
    spec->nic_count = static_cast<std::uint32_t>(nics->Integer("count", {1, 64}, spec->nic_count));
    spec->nic_gigabits_per_second =
        nics->Number("gbps", {0, 100'000, true}, spec->nic_gigabits_per_second);
    spec->nic_latency_microseconds =
        nics->Number("latencyMicroseconds", {0, 1e6}, spec->nic_latency_microseconds);
    nics->Finish();
  }
  if (auto cpu = server->Object("cpu")) {
    spec->cpu_speed_ratio = cpu->Number("speedRatio", {0.01, 100}, 1.0);
    cpu->Finish();
  }
  if (spec->gpu.empty() && !server->Has("preset")) {
    server->Report("gpu", "is required: the name of a GPU model, or set preset to one of " +
                              base::Join(ServerPresetNames(), ", "));
  }
  server->Finish();
}

void ReadFabric(Fields* fabric, ClusterSpec* spec) {
  spec->fabric_preset = fabric->Choice(
      "preset", {"rail-optimised", "fat-tree", "leaf-spine", "none"}, spec->fabric_preset);
  if (spec->fabric_preset == "none" && spec->servers > 1) {
    fabric->Report("preset", base::StrCat("'none' connects nothing, but the cluster has ",
                                          spec->servers, " servers"));
  }
  spec->oversubscription = fabric->Number("oversubscription", {1, 64}, 1.0);
  const std::string routing = fabric->Choice("routing", {"adaptive", "ecmp"}, "adaptive");
  const auto spines =
      static_cast<std::uint32_t>(fabric->Integer("spines", {1, kServersMax}, kSpines));
  if (routing == "ecmp") spec->spines = spines;
  for (Fields& fault : fabric->ObjectList("faults")) {
    spec->faults.push_back({.at_seconds = fault.Number("atSeconds", {0, kFaultSecondsMax}, 0),
                            .link = fault.Text("link"),
                            .capacity_factor = fault.Number("capacityFactor", {0, 1}, 1)});
    for (const char* name : {"atSeconds", "link", "capacityFactor"}) {
      if (!fault.Has(name)) fault.Report(name, "is required");
    }
    fault.Finish();
  }
  for (Fields& traffic : fabric->ObjectList("background")) {
    const auto server = [&](const char* name) {
      return static_cast<std::uint32_t>(traffic.Integer(name, {0, kServersMax - 1}, 0));
    };
    spec->background.push_back({.from = server("from"),
                                .to = server("to"),
                                .rail = server("rail"),
                                .gigabits_per_second = traffic.Number("gbps", {0, 1e5, true}, 0)});
    for (const char* name : {"from", "to", "gbps"}) {
      if (!traffic.Has(name)) traffic.Report(name, "is required");
    }
    traffic.Finish();
  }
  fabric->Finish();
}

void ReadTiming(Fields* timing) {
  if (!timing->Text("profile").empty()) {
    timing->Report("profile",
                   "choosing a profile is not supported yet; leave the field out to use "
                   "all profiles of the GPU model");
  }
  if (timing->Bool("measureOnMiss", false)) {
    timing->Report("measureOnMiss",
                   "measuring on a real GPU is not supported yet; set it to false");
  }
  timing->Finish();
}

}  // namespace

ClusterSpec ReadClusterSpec(Fields* fields, std::uint32_t servers_default) {
  ClusterSpec spec;
  spec.gpus_per_server = 8;
  spec.servers =
      static_cast<std::uint32_t>(fields->Integer("servers", {1, kServersMax}, servers_default));
  spec.fabric_preset = spec.servers > 1 ? "rail-optimised" : "none";
  if (auto server = fields->Object("server")) {
    ReadServer(&*server, &spec);
  } else if (!fields->Has("server")) {
    fields->Report("server", "is required: {preset: ...} or {gpu: ...}. Presets: " +
                                 base::Join(ServerPresetNames(), ", "));
  }
  if (auto fabric = fields->Object("fabric")) ReadFabric(&*fabric, &spec);
  spec.driver_version = kDriverVersion;
  spec.nccl_version = kNcclVersion;
  if (auto software = fields->Object("software")) {
    spec.driver_version = software->Text("driver", kDriverVersion);
    spec.nccl_version = software->Text("nccl", kNcclVersion);
    software->Finish();
  }
  if (auto timing = fields->Object("timing")) ReadTiming(&*timing);
  fields->Finish();
  return spec;
}

nlohmann::json ToJson(const ClusterSpec& spec) {
  nlohmann::json fabric = {{"preset", spec.fabric_preset},
                           {"oversubscription", spec.oversubscription}};
  if (spec.spines > 0) {
    fabric["routing"] = "ecmp";
    fabric["spines"] = spec.spines;
  }
  for (const LinkFault& fault : spec.faults) {
    fabric["faults"].push_back({{"atSeconds", fault.at_seconds},
                                {"link", fault.link},
                                {"capacityFactor", fault.capacity_factor}});
  }
  for (const BackgroundTraffic& traffic : spec.background) {
    fabric["background"].push_back({{"from", traffic.from},
                                    {"to", traffic.to},
                                    {"rail", traffic.rail},
                                    {"gbps", traffic.gigabits_per_second}});
  }
  return {
      {"servers", spec.servers},
      {"server",
       {{"gpu", spec.gpu},
        {"gpusPerServer", spec.gpus_per_server},
        {"nvlink", {{"generation", spec.nvlink_generation}, {"switch", spec.nvlink_switched}}},
        {"nics",
         {{"count", spec.nic_count},
          {"gbps", spec.nic_gigabits_per_second},
          {"latencyMicroseconds", spec.nic_latency_microseconds}}},
        {"cpu", {{"speedRatio", spec.cpu_speed_ratio}}}}},
      {"fabric", fabric},
      {"software", {{"driver", spec.driver_version}, {"nccl", spec.nccl_version}}},
  };
}

}  // namespace eidolon::controller::job
