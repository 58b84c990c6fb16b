// Properties of the emulated GPUs for the program: one entry of the segment (layout.h).
#pragma once

#include <cstdint>

namespace eidolon::ring {

// One emulated GPU, as the CUDA, NVML and occupancy calls describe it. Filled by the agent from the
// GPU model file; the shim only repeats it.
struct DeviceProperties {
  char name[128];  // As NVML prints it: "NVIDIA H100 80GB HBM3".
  char uuid[16];   // Stable: derived from job, server and index.
  std::uint32_t pci_bus;
  std::uint32_t compute_major;
  std::uint32_t compute_minor;
  std::uint32_t multiprocessors;
  std::uint32_t max_threads_per_multiprocessor;
  std::uint32_t max_blocks_per_multiprocessor;
  std::uint32_t registers_per_multiprocessor;
  std::uint32_t registers_per_block;
  std::uint32_t shared_bytes_per_multiprocessor;
  std::uint32_t shared_bytes_per_block;  // Static limit: 49152.
  std::uint32_t shared_bytes_per_block_optin;
  std::uint32_t reserved_shared_bytes_per_block;  // 1024 since compute capability 8.0.
  std::uint32_t sm_clock_khz;
  std::uint32_t memory_clock_khz;
  std::uint32_t memory_bus_bits;
  std::uint32_t copy_engines;
  std::uint32_t nvlink_count;
  std::uint32_t nvlink_version;
  std::uint32_t power_limit_milliwatts;
  std::uint32_t nvlink_switch;  // 1 when the GPUs of a server meet in an NVSwitch.
  std::uint64_t l2_bytes;
  std::uint64_t memory_bytes;      // cudaMemGetInfo's total.
  std::uint64_t context_bytes;     // Booked when a process first uses the device.
  std::uint64_t memory_bandwidth;  // Bytes per second.
  std::uint64_t reserved[16];
};
static_assert(sizeof(DeviceProperties) <= 512);

}  // namespace eidolon::ring
