// The list is chosen once per process, at the first call that needs it, as the driver reads
// CUDA_VISIBLE_DEVICES once: programs that set the variable later see no change. `chosen` is stored
// last and publishes the rest, so later calls take no lock. A process without a session counts as
// one without devices. Two numberings exist from here on: devices as the program counts them, and
// as the agent does (RingDevice). Records carry the latter.
#include "shim/gpu/device/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

#include "services/base/text.h"
#include "shim/core/launcher.h"
#include "shim/core/session.h"

namespace eidolon::shim::gpu {
namespace {

constinit std::mutex choosing;  // Guards the choice below until `chosen`.
constinit std::atomic<bool> chosen{false};
constinit std::array<int, ring::kMaxDevices> visible{};
constinit int visible_count = 0;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<int> FindDevice(std::string_view name,
                              const std::vector<ring::DeviceProperties>& all) {
  if (const auto number = base::ParseInteger(name)) {
    if (*number < 0 || *number >= static_cast<std::int64_t>(all.size())) return std::nullopt;
    return static_cast<int>(*number);
  }
  if (!name.starts_with("GPU-")) return std::nullopt;
  std::optional<int> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    char uuid[41];
    FormatUuid(all[i].uuid, uuid);
    if (!std::string_view(uuid).starts_with(name)) continue;
    if (found.has_value()) return std::nullopt;  // The prefix is ambiguous.
    found = static_cast<int>(i);
  }
  return found;
}

void Choose() {
  const std::lock_guard guard(choosing);
  if (chosen.load(std::memory_order_acquire)) return;
  core::Session* session = core::Session::Get();
  if (session != nullptr) {
    std::vector<ring::DeviceProperties> all;
    for (int i = 0; i < session->device_count(); ++i) all.push_back(session->device(i));
    const char* variable = std::getenv("CUDA_VISIBLE_DEVICES");
    std::vector<int> selected;
    if (variable != nullptr) {
      selected = SelectDevices(variable, all);
    } else {
      for (int i = 0; i < session->device_count(); ++i) selected.push_back(i);
    }
    visible_count = static_cast<int>(selected.size());
    std::copy(selected.begin(), selected.end(), visible.begin());
  }
  chosen.store(true, std::memory_order_release);
}

}  // namespace

std::vector<int> SelectDevices(std::string_view value,
                               const std::vector<ring::DeviceProperties>& all) {
  std::vector<int> selected;
  for (const std::string_view part : base::Split(value, ',')) {
    const std::optional<int> device = FindDevice(Trim(part), all);
    if (!device.has_value() || std::ranges::find(selected, *device) != selected.end()) break;
    selected.push_back(*device);
  }
  return selected;
}

void FormatUuid(const char (&uuid)[16], char (&text)[41]) noexcept {
  int at = std::snprintf(text, sizeof(text), "GPU-");
  for (int i = 0; i < 16; ++i) {
    const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    at += std::snprintf(text + at, sizeof(text) - static_cast<std::size_t>(at), "%s%02x",
                        dash ? "-" : "", static_cast<unsigned char>(uuid[i]));
  }
}

int DeviceCount() noexcept {
  if (!chosen.load(std::memory_order_acquire)) {
    try {
      Choose();
    } catch (...) {
      return 0;
    }
  }
  return visible_count;
}

std::optional<int> DeviceCountOfLauncher() noexcept {
  const std::optional<int> all_devices = core::DeviceCountOfTorchrun();
  const char* const variable = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!all_devices.has_value() || variable == nullptr) return all_devices;
  if (std::string_view(variable).find("GPU-") != std::string_view::npos) return std::nullopt;
  try {
    const std::vector<ring::DeviceProperties> all(static_cast<std::size_t>(*all_devices));
    return static_cast<int>(SelectDevices(variable, all).size());
  } catch (...) {
    return std::nullopt;
  }
}

const ring::DeviceProperties& PropertiesOf(int device) noexcept {
  static const ring::DeviceProperties none{};
  core::Session* session = core::Session::Existing();
  if (session == nullptr || device < 0 || device >= DeviceCount()) return none;
  return session->device(visible[static_cast<std::size_t>(device)]);
}

std::uint16_t RingDevice(int device) noexcept {
  return static_cast<std::uint16_t>(visible[static_cast<std::size_t>(device)]);
}

}  // namespace eidolon::shim::gpu
