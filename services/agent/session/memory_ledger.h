// What one rank has booked on its devices, and the most it ever had.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "services/agent/ring/record_check.h"
#include "services/base/error.h"
#include "services/base/text.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::session {

// Bytes by the categories of a report.
struct MemorySplit {
  std::int64_t allocations = 0;  // Allocations, pools, managed memory.
  std::int64_t workspace = 0;
  std::int64_t nccl = 0;
  std::int64_t context = 0;
};

struct DeviceMemory {
  std::uint64_t peak = 0;
  MemorySplit at_peak;
  std::uint64_t refused = 0;      // Largest refused request.
  std::uint64_t activations = 0;  // The most that was kept for backward passes.
  MemorySplit now;
};

// One process. Main loop only.
class MemoryLedger {
 public:
  // An error says that more was freed than booked, or more booked than any program would. Requires:
  // ring::CheckRecord passed.
  base::Result<void> Add(const ::eidolon::ring::MemoryRecord& record) {
    DeviceMemory& device = devices_[record.header.device];
    CategoryOf(&device.now, record.category) += record.delta;
    const MemorySplit& now = device.now;
    const std::int64_t all = now.allocations + now.workspace + now.nccl + now.context;
    if (all < 0 || all > ring::kBookedMaxBytes) {
      return base::Fail(base::ErrorCode::kCorrupt,
                        base::StrCat("memory record: with its ", record.delta, " bytes, ", all,
                                     " are booked on device ", record.header.device));
    }
    if (record.used > device.peak) {
      device.peak = record.used;
      device.at_peak = device.now;
    }
    return {};
  }
  void Refuse(const ::eidolon::ring::MemoryRecord& record) {
    DeviceMemory& device = devices_[record.header.device];
    const auto asked = static_cast<std::uint64_t>(record.delta < 0 ? 0 : record.delta);
    if (asked > device.refused) device.refused = asked;
  }
  void NoteActivations(const ::eidolon::ring::MemoryRecord& record) {
    std::uint64_t& most = devices_[record.header.device].activations;
    most = std::max(most, record.used);
  }
  // Whether the program booked anything itself, or tried to; a context it gets in any case.
  bool has_allocations() const {
    return std::ranges::any_of(devices_, [](const auto& device) {
      return device.second.at_peak.allocations > 0 || device.second.refused > 0;
    });
  }
  // Returns memory by server-local device.
  const std::map<std::uint16_t, DeviceMemory>& devices() const { return devices_; }

 private:
  static std::int64_t& CategoryOf(MemorySplit* split, ::eidolon::ring::MemoryCategory category) {
    using ::eidolon::ring::MemoryCategory;
    switch (category) {
      case MemoryCategory::kWorkspace:
        return split->workspace;
      case MemoryCategory::kNccl:
        return split->nccl;
      case MemoryCategory::kContext:
        return split->context;
      default:
        return split->allocations;
    }
  }
  std::map<std::uint16_t, DeviceMemory> devices_;
};

}  // namespace eidolon::agent::session
