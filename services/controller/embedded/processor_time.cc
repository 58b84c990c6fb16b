#include "services/controller/embedded/processor_time.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace eidolon::controller::embedded {
namespace {

// user nice system idle iowait irq softirq steal; guests are in user and nice already.
constexpr int kColumns = 8;
constexpr int kIdle = 3;
constexpr int kWaitsForDisk = 4;

// The columns of the line of all processors, behind its name.
std::optional<ProcessorTime> ParseSum(std::string_view line) {
  ProcessorTime time;
  for (int column = 0; column < kColumns; ++column) {
    while (line.starts_with(' ')) line.remove_prefix(1);
    std::uint64_t ticks = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), ticks);
    if (error != std::errc() || ticks > (std::uint64_t{1} << 60)) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    time.all += ticks;
    if (column != kIdle && column != kWaitsForDisk) time.busy += ticks;
  }
  return time;
}

}  // namespace

std::optional<ProcessorTime> ParseProcessorTime(std::string_view text) {
  constexpr std::string_view kName = "cpu";
  std::optional<ProcessorTime> time;
  while (text.starts_with(kName)) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!time) {
      if (!line.starts_with("cpu ")) return std::nullopt;
      time = ParseSum(line.substr(kName.size()));
      if (!time) return std::nullopt;
    } else {
      ++time->processors;
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return time && time->processors > 0 ? time : std::nullopt;
}

std::optional<ProcessorTime> ReadProcessorTime() {
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  return ParseProcessorTime(text.view());
}

std::optional<job::MachineLoad> LoadBetween(const ProcessorTime& before,
                                            const ProcessorTime& after) {
  if (after.all <= before.all || after.busy < before.busy) return std::nullopt;
  return job::MachineLoad{.processors = after.processors,
                          .busy = static_cast<double>(after.busy - before.busy) /
                                  static_cast<double>(after.all - before.all)};
}

}  // namespace eidolon::controller::embedded
