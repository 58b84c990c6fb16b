// A document comes as JSON or as YAML, so the rules are written once, against Fields, and each form
// has a reader of its own. The order of reading is that of defaults: the preset fills everything,
// the server's fields override it, and the fabric comes after them because its bounds depend on
// servers and NICs. A GPU without a preset says nothing about NVLink, so its name decides. Fields
// that are planned but not supported are refused, since a silent one would pass for working.
#include "services/contract/cluster/document.h"

#include <string>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/contract/cluster/cpu_model.h"
#include "services/contract/cluster/fabric_document.h"
#include "services/contract/cluster/limits.h"
#include "services/contract/cluster/presets.h"

namespace eidolon::cluster {
namespace {

constexpr char kDriverVersion[] = "580.82";
constexpr char kNcclVersion[] = "2.30.7";

// NVLink generation of a GPU named by its model, when no preset says it: by architecture, SXM
// boards only.
std::uint32_t NvlinkGenerationOf(const std::string& gpu) {
  if (gpu.find("PCIe") != std::string::npos) return 0;
  if (gpu.starts_with("A100")) return 3;
  if (gpu.starts_with("H100") || gpu.starts_with("H200")) return 4;
  if (gpu.starts_with("B200") || gpu.starts_with("GB200") || gpu.starts_with("B300")) return 5;
  return 0;
}

std::uint32_t Whole(Fields& fields, const char* name, IntegerRule rule, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(fields.Integer(name, rule, otherwise));
}

// What the server's preset says, the fabric included, or eight GPUs of a model still to be named.
ClusterSpec StartFrom(const std::string& preset) {
  if (!preset.empty()) return MakePreset(preset);
  ClusterSpec spec;
  spec.gpus_per_server = 8;
  spec.fabric.kind = "rail-optimised";
  return spec;
}

void ReadNics(Fields& server, ClusterSpec& spec) {
  if (spec.nic_count == 0) {
    spec.nic_count = spec.gpus_per_server;
    spec.nic_gigabits_per_second = 400;
    spec.nic_latency_microseconds = 2.0;
  }
  const auto nics = server.Object("nics");
  if (!nics) return;
  spec.nic_count = Whole(*nics, "count", {spec.NeedsFabric() ? 1 : 0, kNicsMax}, spec.nic_count);
  spec.nic_gigabits_per_second =
      nics->Number("gbps", {0, kNicGigabitsMax, true}, spec.nic_gigabits_per_second);
  spec.nic_latency_microseconds = nics->Number("latencyMicroseconds", {0, kLatencyMicrosecondsMax},
                                               spec.nic_latency_microseconds);
  nics->Finish();
}

// speedRatio is a number, or "auto": then the processor's model says how fast the host is. A server
// without a preset has the processor that is usual beside its GPU, and so has one of which it is
// not known: predictions are less certain then.
void ReadCpu(Fields& server, ClusterSpec& spec) {
  spec.cpu_is_unknown = FindCpuModel(spec.cpu) == nullptr;
  const auto cpu = server.Object("cpu");
  if (cpu) {
    std::vector<std::string> names = CpuModelNames();
    names.emplace_back(kUnknownCpu);
    const std::string chosen = cpu->Choice("model", names, spec.cpu);
    if (!chosen.empty()) {
      spec.cpu = chosen;
      spec.cpu_is_unknown = chosen == kUnknownCpu;
    }
  }
  if (spec.cpu_is_unknown) spec.cpu = UsualCpuOf(spec.gpu);
  if (!cpu) return;
  if (!cpu->Is("speedRatio", "auto")) {
    spec.cpu_speed_ratio = cpu->Number("speedRatio", {0.01, 100}, 0);
  }
  cpu->Finish();
}

void ReadServer(Fields& server, bool preset, ClusterSpec& spec) {
  const std::string gpu = server.Text("gpu", spec.gpu);
  if (!preset && !gpu.empty()) {
    spec.nvlink_generation = NvlinkGenerationOf(gpu);
    spec.nvlink_switched = spec.nvlink_generation > 0;
  }
  spec.gpu = gpu;
  spec.gpu_clock = server.Number("gpuClock", {kGpuClockMin, kGpuClockMax}, spec.gpu_clock);
  spec.gpu_power_limit_watts = server.Number(
      "powerLimit", {kPowerLimitWattsMin, kPowerLimitWattsMax}, spec.gpu_power_limit_watts);
  spec.gpus_per_server =
      Whole(server, "gpusPerServer", {1, kGpusPerServerMax}, spec.gpus_per_server);
  if (const auto nvlink = server.Object("nvlink")) {
    spec.nvlink_generation = Whole(*nvlink, "generation", {0, 6}, spec.nvlink_generation);
    spec.nvlink_switched = nvlink->Bool("switch", spec.nvlink_switched);
    nvlink->Finish();
  }
  spec.servers_per_domain =
      Whole(server, "serversPerDomain", {1, kServersPerDomainMax}, spec.servers_per_domain);
  if (spec.servers_per_domain > 1 && !spec.nvlink_switched) {
    server.Report("serversPerDomain", "needs switched NVLink: set nvlink.switch to true");
  }
  spec.host_bridges = Whole(server, "hostBridges", {1, spec.gpus_per_server}, spec.host_bridges);
  ReadNics(server, spec);
  ReadCpu(server, spec);
  server.Finish();
}

void ReadTiming(Fields& timing) {
  if (!timing.Text("profile", "").empty()) {
    timing.Report("profile",
                  "choosing a profile is not supported yet; leave the field out to use "
                  "all profiles of the GPU model");
  }
  if (timing.Bool("measureOnMiss", false)) {
    timing.Report("measureOnMiss", "measuring on a real GPU is not supported yet; set it to false");
  }
  timing.Finish();
}

void ReadSoftware(Fields& fields, ClusterSpec& spec) {
  spec.driver_version = kDriverVersion;
  spec.nccl_version = kNcclVersion;
  if (const auto software = fields.Object("software")) {
    spec.driver_version = software->Text("driver", kDriverVersion);
    spec.nccl_version = software->Text("nccl", kNcclVersion);
    software->Finish();
  }
}

// The document must say what its servers are.
void RequireServer(Fields& fields, Fields* server, const ClusterSpec& spec) {
  const std::string presets = base::Join(PresetNames(), ", ");
  if (server == nullptr) {
    if (fields.Has("server")) return;  // Not an object, which was reported.
    fields.Report("server", "is required: {preset: ...} or {gpu: ...}. Presets: " + presets);
  } else if (spec.gpu.empty() && !server->Has("preset")) {
    server->Report("gpu",
                   "is required: the name of a GPU model, or set preset to one of " + presets);
  }
}

}  // namespace

ClusterSpec ReadCluster(Fields& fields, const ReadOptions& options) {
  const std::int64_t servers = fields.Integer("servers", {1, kServersMax}, 0);
  const auto server = fields.Object("server");
  const std::string preset = server ? server->Choice("preset", PresetNames(), "") : "";
  ClusterSpec spec = StartFrom(preset);
  spec.servers =
      servers > 0 ? static_cast<std::uint32_t>(servers) : options.servers.value_or(spec.servers);
  if (server) ReadServer(*server, !preset.empty(), spec);
  if (options.fabric_as_needed && !spec.NeedsFabric()) spec.fabric.kind = "none";
  if (const auto fabric = fields.Object("fabric")) ReadFabric(*fabric, options.check_plan, spec);
  ReadSoftware(fields, spec);
  if (const auto timing = fields.Object("timing")) ReadTiming(*timing);
  fields.Finish();
  RequireServer(fields, server.get(), spec);
  return spec;
}

}  // namespace eidolon::cluster
