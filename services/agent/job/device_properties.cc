// A program sees the GPU by its properties and decides by them (kernels, block sizes, memory), so
// they are those of the model and not of this machine. Limits that a GPU model's description does
// not hold are CUDA's own constants. A UUID is a hash of job, server and index: it is unique in the
// job and the same in each run. What makes no sense fails here, before a process has started.
#include "services/agent/job/device_properties.h"

#include <algorithm>
#include <cstring>

#include "eidolon/controller/v1/controller.pb.h"
#include "eidolon/timing/v1/timing.pb.h"
#include "services/agent/clock/host_costs.h"
#include "services/base/hash.h"
#include "services/base/host_speed/probe.h"
#include "services/base/text.h"
#include "services/contract/machine/machine.h"

namespace eidolon::agent::job {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

// cuDriverGetVersion of the CUDA release that the shim speaks for.
constexpr std::uint32_t kCudaVersion = 13020;
constexpr std::uint32_t kStaticSharedBytes = 48 << 10;
// A host function in a stream: the driver's thread is woken, runs it and tells the GPU.
constexpr auto kCallbackCost = base::Duration::Microseconds(20);
// Wall-clock time at virtual time 0 when the job does not say: 2026-01-01 00:00 UTC.
constexpr std::int64_t kEpochUnixNs = 1'767'225'600'000'000'000;

wire::DeviceProperties PropertiesOf(const timing::v1::Gpu& gpu,
                                    const controller::v1::Assignment& assignment,
                                    std::uint32_t index) {
  wire::DeviceProperties device{};
  const std::string& name = gpu.product_name();
  std::copy_n(name.begin(), std::min(name.size(), sizeof(device.name) - 1), device.name);
  const std::string identity = StrCat(assignment.job(), "/", assignment.server(), "/", index);
  const base::Digest digest = base::Hash128(identity.data(), identity.size());
  std::memcpy(device.uuid, &digest, sizeof(device.uuid));
  device.pci_bus = 0x10 * (index + 1);
  device.compute_major = gpu.compute_major();
  device.compute_minor = gpu.compute_minor();
  device.multiprocessors = gpu.multiprocessors();
  device.max_threads_per_multiprocessor = gpu.max_threads_per_multiprocessor();
  device.max_blocks_per_multiprocessor = gpu.max_blocks_per_multiprocessor();
  device.registers_per_multiprocessor = gpu.registers_per_multiprocessor();
  device.registers_per_block = gpu.registers_per_multiprocessor();
  device.shared_bytes_per_multiprocessor = gpu.shared_bytes_per_multiprocessor();
  device.shared_bytes_per_block = kStaticSharedBytes;
  device.shared_bytes_per_block_optin = gpu.shared_bytes_per_block_optin();
  device.reserved_shared_bytes_per_block =
      gpu.compute_major() >= 8 ? machine::kReservedSharedBytes : 0;
  device.sm_clock_khz = gpu.boost_clock_megahertz() * 1000;
  device.memory_clock_khz = gpu.memory_clock_megahertz() * 1000;
  device.memory_bus_bits = gpu.memory_bus_bits();
  device.copy_engines = gpu.copy_engines();
  const auto& nvlink = assignment.cluster().nvlink();
  device.nvlink_count = nvlink.generation() == 0 ? 0 : gpu.nvlink_count();
  device.nvlink_version = nvlink.generation();
  device.nvlink_switch = nvlink.switched() ? 1 : 0;
  const double limit = assignment.cluster().gpu_power_limit_watts();
  device.power_limit_milliwatts =
      limit > 0 ? static_cast<std::uint32_t>(limit * 1e3) : gpu.power_limit_watts() * 1000;
  device.l2_bytes = gpu.l2_bytes();
  device.memory_bytes = gpu.memory_bytes();
  device.context_bytes = gpu.context_bytes();
  device.memory_bandwidth = gpu.memory_bytes_per_second();
  return device;
}

// "2.30.7" as ncclGetVersion has it: 23007.
base::Result<std::uint32_t> NcclVersionOf(const std::string& text) {
  std::uint32_t parts[3] = {0, 0, 0};
  const auto pieces = base::Split(text, '.');
  bool good = pieces.size() == 3;
  for (std::size_t i = 0; good && i < 3; ++i) {
    const auto number = base::ParseInteger(pieces[i]);
    good = number.has_value() && *number >= 0 && *number < 100;
    if (good) parts[i] = static_cast<std::uint32_t>(*number);
  }
  if (!good) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("NCCL version '", text, "' is not of the form 2.30.7"));
  }
  return parts[0] * 10000 + parts[1] * 100 + parts[2];
}

wire::HostJitter JitterOf(const controller::v1::HostJitter& jitter) {
  return {.per_second = jitter.per_second(),
          .length_ps = jitter.mean_picoseconds(),
          .exponential = jitter.exponential() ? 1u : 0u,
          .reserved = 0,
          .seed = jitter.seed()};
}

// Channels for which NCCL allocates buffers on a system of this kind (network.md, table of graphs).
std::uint32_t ChannelsOf(const controller::v1::Assignment& assignment) {
  if (assignment.cluster().nvlink().generation() == 0) return 4;
  return assignment.servers() > 1 ? 16 : 24;
}

// The speed of the target's processor in the counted host model. `ratio`: over this machine's,
// whose speed is timed; 0: none is given.
double CountedSpeed(double ratio, double cpu_speed) {
  constexpr int kProbes = 21;
  return ratio > 0 ? ratio * host_speed::SpeedOf(host_speed::TimeProbe(kProbes)) : cpu_speed;
}

wire::HostModel HostModelOf(controller::v1::HostModel::Kind kind) {
  switch (kind) {
    case controller::v1::HostModel::FIXED:
      return wire::HostModel::kFixed;
    case controller::v1::HostModel::COUNTED:
      return wire::HostModel::kCounted;
    default:
      return wire::HostModel::kMeasured;
  }
}

wire::HostCosts HostCostsOf(const controller::v1::Assignment& assignment,
                            const timing::v1::Gpu& gpu, double cpu_speed) {
  const wire::HostModel model = HostModelOf(assignment.host_model().kind());
  if (!wire::HasCosts(model)) return clock::DriverHostCosts(cpu_speed);
  if (model == wire::HostModel::kCounted) {
    return clock::CountedHostCosts(CountedSpeed(assignment.cluster().cpu_speed_ratio(), cpu_speed));
  }
  if (gpu.has_fixed()) {
    return clock::EvenHostCosts(gpu.fixed().host_call_picoseconds(),
                                gpu.fixed().host_operator_picoseconds());
  }
  return clock::FixedHostCosts(cpu_speed);
}

}  // namespace

base::Result<ring::SegmentContent> SegmentContentOf(const controller::v1::Assignment& assignment,
                                                    const timing::v1::Gpu& gpu) {
  const auto& cluster = assignment.cluster();
  if (cluster.gpus_per_server() == 0 || cluster.gpus_per_server() > wire::kMaxDevices) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("a server has ", cluster.gpus_per_server(), " GPUs; 1 to ",
                       wire::kMaxDevices, " are supported"));
  }
  if (gpu.multiprocessors() == 0 || gpu.memory_bytes() == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("GPU model '", gpu.name(), "' has no multiprocessors or no memory"));
  }
  if (cluster.gpu_power_limit_watts() > 0 && !gpu.has_power()) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("server.powerLimit: GPU model '", gpu.name(),
                       "' does not say what its kernels draw, so that no limit slows them down"));
  }
  ring::SegmentContent content;
  for (std::uint32_t i = 0; i < cluster.gpus_per_server(); ++i) {
    content.devices.push_back(PropertiesOf(gpu, assignment, i));
  }
  content.host_model = HostModelOf(assignment.host_model().kind());
  const double cpu_speed = cluster.cpu().speed() > 0 ? cluster.cpu().speed() : 1.0;
  content.host_costs = HostCostsOf(assignment, gpu, cpu_speed);
  content.jitter = JitterOf(assignment.host_model().jitter());
  content.strict = assignment.strict();
  content.target_speed = cpu_speed;
  content.speed_ratio = cluster.cpu_speed_ratio();
  content.epoch_unix_ns = kEpochUnixNs;
  content.driver_version = kCudaVersion;
  content.driver_name = cluster.driver_version().empty() ? "580.82" : cluster.driver_version();
  const auto nccl =
      NcclVersionOf(cluster.nccl_version().empty() ? "2.30.7" : cluster.nccl_version());
  if (!nccl) return std::unexpected(nccl.error());
  content.nccl_version = *nccl;
  content.nccl_channels = ChannelsOf(assignment);
  content.unknown_reads = assignment.unknown_reads();
  return content;
}

device::PowerTraits PowerOf(const timing::v1::Gpu& gpu, double limit_watts) {
  if (!gpu.has_power()) return {};
  constexpr double kMilliwattsMax = 1e8;
  const double limit = limit_watts > 0 ? limit_watts : gpu.power_limit_watts();
  const double held = std::clamp(limit * 1e3 * gpu.power().held_share(), 0.0, kMilliwattsMax);
  const auto floor = static_cast<std::int64_t>(gpu.power().floor_milliwatts());
  // A limit below the floor leaves the lowest clocks.
  return {.floor_milliwatts = floor,
          .room_milliwatts = std::max<std::int64_t>(1, static_cast<std::int64_t>(held) - floor)};
}

std::vector<device::Traits> TraitsOf(const timing::v1::Gpu& gpu, double power_limit_watts,
                                     std::size_t count) {
  const double attained =
      std::clamp(gpu.attained_memory_share(), 0.0, 1.0) * gpu.memory_bytes_per_second();
  const device::Traits traits{
      .launch_latency = {static_cast<std::int64_t>(gpu.launch_latency_picoseconds())},
      .launch_gap = {static_cast<std::int64_t>(gpu.launch_gap_picoseconds())},
      .graph_gap = {static_cast<std::int64_t>(gpu.graph_gap_picoseconds())},
      .gemm_graph_gap = {static_cast<std::int64_t>(gpu.gemm_graph_gap_picoseconds())},
      .callback_cost = kCallbackCost,
      .multiprocessors = gpu.multiprocessors(),
      .memory_bytes_per_second = static_cast<std::uint64_t>(attained),
      .power = PowerOf(gpu, power_limit_watts)};
  return std::vector<device::Traits>(count, traits);
}

}  // namespace eidolon::agent::job
