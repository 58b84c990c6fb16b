#include "services/agent/server/gpu_metrics.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include "services/agent/server/sensors.h"
#include "services/base/text.h"

namespace eidolon::agent::server {

using base::StrCat;

namespace {

constexpr double kPermille = 1000;
constexpr double kMebibyte = 1 << 20;

// The rows below are computed from a reading.
struct Reading {
  ::eidolon::ring::DeviceSensors sensors;
  const ::eidolon::ring::DeviceProperties* gpu;
  double used_bytes = 0;

  std::optional<double> OfPower(double value) const {
    if (sensors.power_known == 0) return std::nullopt;
    return value;
  }
};

struct Row {
  const char* name;
  const char* help;
  // Nothing: this GPU has no such sensor.
  std::optional<double> (*value)(const Reading&);
};

// Names and help as in the dcgm-exporter's default-counters.csv, 4.2.
constexpr Row kGauges[] = {
    {"DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).",
     [](const Reading& r) -> std::optional<double> {
       return r.gpu->sm_clock_khz / 1000 * r.sensors.clock_share / 1024;
     }},
    {"DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).",
     [](const Reading& r) -> std::optional<double> { return r.gpu->memory_clock_khz / 1000; }},
    {"DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).",
     [](const Reading& r) { return r.OfPower(r.sensors.mean_milliwatts / 1e3); }},
    {"DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).",
     [](const Reading& r) -> std::optional<double> { return r.sensors.busy_permille / 10; }},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", "Memory utilization (in %).",
     [](const Reading& r) -> std::optional<double> { return r.sensors.memory_permille / 10; }},
    {"DCGM_FI_DEV_ENC_UTIL", "Encoder utilization (in %).",
     [](const Reading&) -> std::optional<double> { return 0; }},
    {"DCGM_FI_DEV_DEC_UTIL", "Decoder utilization (in %).",
     [](const Reading&) -> std::optional<double> { return 0; }},
    {"DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered.",
     [](const Reading&) -> std::optional<double> { return 0; }},
    {"DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).",
     [](const Reading& r) -> std::optional<double> {
       return (static_cast<double>(r.gpu->memory_bytes) - r.used_bytes) / kMebibyte;
     }},
    {"DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).",
     [](const Reading& r) -> std::optional<double> { return r.used_bytes / kMebibyte; }},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Ratio of time the graphics engine is active.",
     [](const Reading& r) -> std::optional<double> { return r.sensors.busy_permille / kPermille; }},
    {"DCGM_FI_PROF_DRAM_ACTIVE",
     "Ratio of cycles the device memory interface is active sending or receiving data.",
     [](const Reading& r) -> std::optional<double> {
       return r.sensors.memory_permille / kPermille;
     }},
};

constexpr Row kCounters[] = {
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Total energy consumption since boot (in mJ).",
     [](const Reading& r) {
       return r.OfPower(static_cast<double>(r.sensors.energy_microjoules / 1000));
     }},
    {"DCGM_FI_DEV_POWER_VIOLATION", "Throttling duration due to power constraints (in us).",
     [](const Reading& r) -> std::optional<double> {
       return static_cast<double>(r.sensors.slowed_ps / 1'000'000);
     }},
};

prometheus::Labels LabelsOf(const JobParts& job, std::size_t index) {
  const ::eidolon::ring::DeviceProperties& gpu = job.content.devices[index];
  char bus_id[32];
  std::snprintf(bus_id, sizeof(bus_id), "00000000:%02X:00.0", gpu.pci_bus);
  std::string uuid = "GPU-";
  for (std::size_t i = 0; i < sizeof(gpu.uuid); ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(gpu.uuid[i]));
    const bool begins_group = i == 4 || i == 6 || i == 8 || i == 10;
    uuid += StrCat(begins_group ? "-" : "", digits);
  }
  const std::size_t length = strnlen(gpu.name, sizeof(gpu.name));
  return {{"gpu", std::to_string(index)},
          {"UUID", uuid},
          {"pci_bus_id", bus_id},
          {"device", StrCat("nvidia", index)},
          {"modelName", std::string(gpu.name, length)},
          {"Hostname", StrCat("server-", job.assignment.server())}};
}

// Memory that all processes have booked there.
double UsedBytes(const Processes& processes, std::uint16_t device) {
  std::int64_t sum = 0;
  for (const auto& [number, session] : processes.all()) {
    const auto& devices = session->memory().devices();
    const auto found = devices.find(device);
    if (found == devices.end()) continue;
    const session::MemorySplit& now = found->second.now;
    sum += now.allocations + now.workspace + now.nccl + now.context;
  }
  return static_cast<double>(sum);
}

}  // namespace

GpuMetrics::GpuMetrics(prometheus::Registry* registry, const JobParts* job)
    : job_(job), gpus_(job->content.devices.size()) {
  const auto has = [job](const Row& row, std::size_t index) {
    const bool is_known = PowerIsKnown(*job, static_cast<std::uint16_t>(index));
    return row
        .value(
            {.sensors = {.power_known = is_known ? 1u : 0u}, .gpu = &job->content.devices[index]})
        .has_value();
  };
  for (const Row& row : kGauges) {
    auto& family = prometheus::BuildGauge().Name(row.name).Help(row.help).Register(*registry);
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      gpus_[i].gauges.push_back(has(row, i) ? &family.Add(LabelsOf(*job, i)) : nullptr);
    }
  }
  for (const Row& row : kCounters) {
    auto& family = prometheus::BuildCounter().Name(row.name).Help(row.help).Register(*registry);
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      gpus_[i].counters.push_back(has(row, i) ? &family.Add(LabelsOf(*job, i)) : nullptr);
    }
  }
}

void GpuMetrics::Show(const Processes& processes) {
  const base::SimTime now = LatestClock(processes);
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto device = static_cast<std::uint16_t>(i);
    const Reading reading{.sensors = ReadSensors(*job_, processes, device, now),
                          .gpu = &job_->content.devices[i],
                          .used_bytes = UsedBytes(processes, device)};
    for (std::size_t row = 0; row < std::size(kGauges); ++row) {
      prometheus::Gauge* gauge = gpus_[i].gauges[row];
      if (gauge != nullptr) gauge->Set(*kGauges[row].value(reading));
    }
    for (std::size_t row = 0; row < std::size(kCounters); ++row) {
      prometheus::Counter* counter = gpus_[i].counters[row];
      if (counter == nullptr) continue;
      const double value = *kCounters[row].value(reading);
      if (value > counter->Value()) counter->Increment(value - counter->Value());
    }
  }
}

}  // namespace eidolon::agent::server
