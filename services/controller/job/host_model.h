// Defines where a job's host time comes from: what the program does between its CUDA calls, and
// what those take (docs/host_time.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace eidolon::controller::job {

enum class HostModel : std::uint8_t {
  kMeasured,  // Processor time of the machine that simulates, scaled to the target's.
  kCounted,  // Calls, operators and Python functions, each at its cost, and what a program computes
             // besides for long; the default.
  kFixed,    // Calls and operators alone, whose numbers never change: bit-identical runs.
};

// Names as jobs and reports have them, in the order of the enumeration.
inline const std::array<std::string, 3> kHostModelNames = {"measured", "counted", "fixed"};

inline const std::string& NameOf(HostModel model) {
  return kHostModelNames[static_cast<std::size_t>(model)];
}

// Source of the time of the program's own work.
struct HostTime {
  HostModel model = HostModel::kCounted;
  std::string cpu;              // The target's processor.
  bool cpu_is_unknown = false;  // It is the usual one beside the GPU.
  double error = 0;             // Of the host's time, one deviation, relative.
  double speed_ratio = 0;       // Given by the job: over this machine's; 0: by the processor.
  double work_seconds = 0;      // In a mean iteration, whatever the GPU did; of the slowest rank.
};

}  // namespace eidolon::controller::job
