// Programs choose kernels and the shapes of launches by these numbers, so a wrong one changes what
// runs. Numbers that differ between models come from the agent's description of the device, all
// others from one table. The table is sorted by number for the binary search, and may name only
// what the shim answers: a feature that is refused (multicast objects, events between processes,
// stream memory operations) has 0 here, or programs would choose a way that fails.
#include "shim/gpu/device/device_attributes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "services/contract/ring/layout.h"
#include "shim/gpu/device/device.h"

namespace eidolon::shim::gpu {
namespace {

struct Fixed {
  int number;
  int value;
};

// The same on every data-centre GPU since compute capability 8.0, in the order of the numbers.
constexpr Fixed kFixed[] =
    {
        {1, 1024},  // Threads per block.
        {2, 1024},  // Block dimensions.
        {3, 1024},       {4, 64},
        {5, 2147483647},  // Grid dimensions.
        {6, 65535},      {7, 65535},
        {9, 65536},                         // Constant memory.
        {10, kWarpSize}, {11, 2147483647},  // Copy pitch.
        {14, 512},                          // Texture alignment.
        {15, 1},                            // Copies overlap with kernels.
        {17, 0},                            // No kernel timeout,
        {18, 0},                            // not integrated,
        {19, 1},                            // maps host memory,
        {20, 0},                            // default compute mode.
        {21, 131072},                       // Textures: 1D; 2D; 3D; layered 2D.
        {22, 131072},    {23, 65536},
        {24, 16384},     {25, 16384},
        {26, 16384},     {27, 32768},
        {28, 32768},     {29, 2048},
        {30, 512},                 // Surface alignment.
        {31, 1},                   // Concurrent kernels,
        {32, 1},                   // ECC.
        {34, 0},                   // PCI device.
        {35, 0},         {41, 1},  // Unified addressing.
        {42, 32768},               // Textures: layered 1D; gather; alternative 3D.
        {43, 2048},      {44, 1},
        {45, 32768},     {46, 32768},
        {47, 8192},      {48, 8192},
        {49, 32768},     {50, 0},  // PCI domain.
        {51, 32},                  // Texture pitch alignment.
        {52, 32768},               // Cube maps, then surfaces.
        {53, 32768},     {54, 2046},
        {55, 32768},     {56, 131072},
        {57, 65536},     {58, 16384},
        {59, 16384},     {60, 16384},
        {61, 32768},     {62, 2048},
        {63, 32768},     {64, 32768},
        {65, 2048},      {66, 32768},
        {67, 32768},     {68, 2046},
        {69, 268435456},  // Linear textures; mipmaps.
        {70, 131072},    {71, 65000},
        {72, 2097120},   {73, 32768},
        {74, 32768},     {77, 32768},
        {78, 1},                   // Stream priorities,
        {79, 1},                   // global and local L1.
        {80, 1},         {83, 1},  // Managed memory.
        {84, 0},         {85, 0},
        {86, 0},         {87, 2},  // Single to double precision.
        {88, 0},                   // Pageable memory is not reached by the GPU.
        {89, 1},         {90, 1},
        {91, 1},         {92, 0},  // Stream memory operations are refused.
        {93, 0},         {94, 0},
        {95, 1},  // Cooperative launch.
        {96, 0},         {98, 0},
        {99, 1},  // Host registration.
        {100, 0},        {101, 0},
        {102, 1},  // Virtual memory, with file descriptors as handles.
        {103, 1},        {104, 0},
        {105, 0},        {107, 0},
        {110, 1},        {112, 0},
        {113, 1},        {114, 0},
        {115, 1},  // Memory pools.
        {116, 1},  // GPUDirect RDMA.
        {117, 1},        {118, 100},
        {119, 1},  // Pool handles: file descriptors.
        {121, 0},        {122, 0},
        {123, 0},        {124, 0},
        {125, 0},  // No events between processes.
        {128, 0},  // No fabric handles.
        {129, 1},        {130, 0},
        {131, -1},       {132, 0},  // No multicast objects.
        {133, 0},        {134, 0},
        {135, 0},        {136, 0},
        {137, 0},        {138, 0},
        {139, 0},        {140, 0},
        {141, 0},        {142, 0},
        {143, 0},        {144, 0},
        {145, 0},        {146, 0},
        {147, 0},        {148, 0},
};

std::optional<int> FromModel(const ring::DeviceProperties& model, int number) {
  const auto as_int = [](auto value) {
    return static_cast<int>(std::min<std::uint64_t>(value, 2147483647));
  };
  switch (number) {
    case 8:
      return as_int(model.shared_bytes_per_block);
    case 12:
      return as_int(model.registers_per_block);
    case 13:
      return as_int(model.sm_clock_khz);
    case 16:
      return as_int(model.multiprocessors);
    case 33:
      return as_int(model.pci_bus);
    case 36:
      return as_int(model.memory_clock_khz);
    case 37:
      return as_int(model.memory_bus_bits);
    case 38:
      return as_int(model.l2_bytes);
    case 39:
      return as_int(model.max_threads_per_multiprocessor);
    case 40:
      return as_int(model.copy_engines);
    case 75:
      return as_int(model.compute_major);
    case 76:
      return as_int(model.compute_minor);
    case 81:
      return as_int(model.shared_bytes_per_multiprocessor);
    case 82:
      return as_int(model.registers_per_multiprocessor);
    case 97:
      return as_int(model.shared_bytes_per_block_optin);
    case 106:
      return as_int(model.max_blocks_per_multiprocessor);
    case 108:
      return as_int(model.l2_bytes * 5 / 8);  // Persisting part of the L2.
    case 109:
      return 134'213'632;  // Access policy window.
    case 111:
      return as_int(model.reserved_shared_bytes_per_block);
    case 120:
      return model.compute_major >= 9 ? 1 : 0;  // Clusters.
    case 126:
      return model.compute_major >= 9 ? 4 : 1;  // Memory synchronisation domains.
    case 127:
      return model.compute_major >= 9 ? 1 : 0;  // Tensor maps.
    default:
      return std::nullopt;
  }
}

constexpr int kLimits = 7;
// Stack, printf buffer, heap, runtime depth, pending launches, L2 fetch granularity, persisting L2.
constexpr std::array<std::size_t, kLimits> kDefaultLimits = {1024, 1 << 20, 8 << 20, 2,
                                                             2048, 128,     0};

struct DeviceState {
  std::array<std::atomic<std::size_t>, kLimits> limits{};
  std::array<std::atomic<bool>, kLimits> limit_set{};
  std::array<std::atomic<bool>, ring::kMaxDevices> peer_enabled{};
};
constinit std::array<DeviceState, ring::kMaxDevices> states{};

bool IsDevice(int device) { return device >= 0 && device < DeviceCount(); }

}  // namespace

std::optional<int> DeviceAttribute(int device, int number) noexcept {
  if (const auto value = FromModel(PropertiesOf(device), number)) return value;
  const auto* found =
      std::lower_bound(std::begin(kFixed), std::end(kFixed), number,
                       [](const Fixed& a, int wanted) { return a.number < wanted; });
  if (found == std::end(kFixed) || found->number != number) return std::nullopt;
  return found->value;
}

Status GetLimit(int device, int limit, std::size_t* value) noexcept {
  if (value == nullptr) return Status::kInvalidValue;
  if (limit < 0 || limit >= kLimits) return Status::kUnsupportedLimit;
  const DeviceState& state = states[static_cast<std::size_t>(device)];
  const auto index = static_cast<std::size_t>(limit);
  *value = state.limit_set[index].load() ? state.limits[index].load() : kDefaultLimits[index];
  return Status::kSuccess;
}

Status SetLimit(int device, int limit, std::size_t value) noexcept {
  if (limit < 0 || limit >= kLimits) return Status::kUnsupportedLimit;
  DeviceState& state = states[static_cast<std::size_t>(device)];
  state.limits[static_cast<std::size_t>(limit)].store(value);
  state.limit_set[static_cast<std::size_t>(limit)].store(true);
  return Status::kSuccess;
}

bool CanAccessPeer(int device, int peer) noexcept {
  if (!IsDevice(device) || !IsDevice(peer) || device == peer) return false;
  // Consumer GPUs have no access to peers; data-centre ones do, over NVLink or PCIe.
  return std::strstr(PropertiesOf(device).name, "GeForce") == nullptr;
}

std::optional<int> PeerAttribute(int number, int device, int peer) noexcept {
  const bool access = CanAccessPeer(device, peer);
  const bool nvlink = access && PropertiesOf(device).nvlink_count > 0;
  switch (number) {
    case 1:
      return 0;  // Performance rank.
    case 2:
      return access ? 1 : 0;  // Access.
    case 3:
      return nvlink ? 1 : 0;  // Native atomics.
    case 4:
      return 0;  // Arrays.
    case 5:
      return 0;  // Partial native atomics.
    default:
      return std::nullopt;
  }
}

Status EnablePeerAccess(int device, int peer) noexcept {
  if (!IsDevice(device) || !IsDevice(peer) || device == peer) return Status::kInvalidDevice;
  if (!CanAccessPeer(device, peer)) return Status::kPeerAccessUnsupported;
  std::atomic<bool>& enabled =
      states[static_cast<std::size_t>(device)].peer_enabled[static_cast<std::size_t>(peer)];
  return enabled.exchange(true) ? Status::kPeerAccessAlreadyEnabled : Status::kSuccess;
}

Status DisablePeerAccess(int device, int peer) noexcept {
  if (!IsDevice(device) || !IsDevice(peer)) return Status::kInvalidDevice;
  std::atomic<bool>& enabled =
      states[static_cast<std::size_t>(device)].peer_enabled[static_cast<std::size_t>(peer)];
  return enabled.exchange(false) ? Status::kSuccess : Status::kPeerAccessNotEnabled;
}

void FormatPciBusId(int device, char* text, int length) noexcept {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                PropertiesOf(device).pci_bus);
}

int FindPciBusId(const char* text) noexcept {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (std::sscanf(text, "%x:%x", &bus, &slot) != 2) return -1;
  }
  for (int device = 0; device < DeviceCount(); ++device) {
    if (domain == 0 && slot == 0 && PropertiesOf(device).pci_bus == bus) return device;
  }
  return -1;
}

}  // namespace eidolon::shim::gpu
