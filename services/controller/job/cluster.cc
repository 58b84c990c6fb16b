#include "services/controller/job/cluster.h"

#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/cluster/fabric_document.h"
#include "services/cluster/presets.h"

namespace eidolon::controller::job {
namespace {

constexpr std::int64_t kGpusPerServerMax = 72;
constexpr std::int64_t kDomainMax = 256;
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
  spec->servers_per_domain = static_cast<std::uint32_t>(
      server->Integer("serversPerDomain", {1, kDomainMax}, spec->servers_per_domain));
  if (spec->servers_per_domain > 1 && !spec->nvlink_switched) {
    server->Report("serversPerDomain", "needs switched NVLink: set nvlink.switch to true");
  }
  spec->host_bridges = static_cast<std::uint32_t>(
      server->Integer("hostBridges", {1, spec->gpus_per_server}, spec->host_bridges));
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
  if (auto server = fields->Object("server")) {
    ReadServer(&*server, &spec);
  } else if (!fields->Has("server")) {
    fields->Report("server", "is required: {preset: ...} or {gpu: ...}. Presets: " +
                                 base::Join(ServerPresetNames(), ", "));
  }
  spec.fabric.kind = spec.servers > spec.servers_per_domain ? "rail-optimised" : "none";
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
  nlohmann::json server = {
      {"gpu", spec.gpu},
      {"gpusPerServer", spec.gpus_per_server},
      {"nvlink", {{"generation", spec.nvlink_generation}, {"switch", spec.nvlink_switched}}},
      {"nics",
       {{"count", spec.nic_count},
        {"gbps", spec.nic_gigabits_per_second},
        {"latencyMicroseconds", spec.nic_latency_microseconds}}},
      {"cpu", {{"speedRatio", spec.cpu_speed_ratio}}}};
  if (spec.servers_per_domain > 1) server["serversPerDomain"] = spec.servers_per_domain;
  if (spec.host_bridges > 1) server["hostBridges"] = spec.host_bridges;
  return {
      {"servers", spec.servers},
      {"server", server},
      {"fabric", FabricToJson(spec)},
      {"software", {{"driver", spec.driver_version}, {"nccl", spec.nccl_version}}},
  };
}

}  // namespace eidolon::controller::job
