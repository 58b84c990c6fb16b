// The emulated GPUs as this process sees them: the agent's list, seen through CUDA_VISIBLE_DEVICES.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/contract/ring/layout.h"

namespace eidolon::shim::gpu {

// Number of visible devices; 0 without a session. Fixed at the first call.
int DeviceCount() noexcept;

// The same for torchrun, which wants to know no more: without a session. Nothing: not torchrun, or
// it takes a session to know.
std::optional<int> DeviceCountOfLauncher() noexcept;

// Requires: 0 <= device < DeviceCount().
const ring::DeviceProperties& PropertiesOf(int device) noexcept;
// Returns what RecordHeader::device says for a visible device.
std::uint16_t RingDevice(int device) noexcept;

// The devices that a value of CUDA_VISIBLE_DEVICES selects, in order, as the driver reads it:
// numbers or UUID prefixes ("GPU-..."); the first invalid or repeated entry ends the list.
std::vector<int> SelectDevices(std::string_view value,
                               const std::vector<ring::DeviceProperties>& all);

// A UUID as nvidia-smi prints it: "GPU-00112233-4455-...".
void FormatUuid(const char (&uuid)[16], char (&text)[41]) noexcept;

}  // namespace eidolon::shim::gpu
