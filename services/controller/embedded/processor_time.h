// Measures how busy this machine's processors are, by the kernel's own count (proc_stat(5)).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "services/controller/job/status.h"

namespace eidolon::controller::embedded {

// Time since the machine started, in clock ticks of all processors together.
struct ProcessorTime {
  std::uint32_t processors = 0;
  std::uint64_t busy = 0;
  std::uint64_t all = 0;
};

// Parses the text of /proc/stat; nothing when it is something else. Any text is accepted.
std::optional<ProcessorTime> ParseProcessorTime(std::string_view text);
// Now; nothing when the kernel does not tell.
std::optional<ProcessorTime> ReadProcessorTime();

// Returns the load between two readings; nothing when no time has passed.
std::optional<job::MachineLoad> LoadBetween(const ProcessorTime& before,
                                            const ProcessorTime& after);

}  // namespace eidolon::controller::embedded
