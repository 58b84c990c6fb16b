#include "services/runtime/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "services/base/text.h"
#include "services/runtime/process/proc_file.h"

namespace eidolon::runtime {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(const char* name, const char* help, MetricType type, double value) {
  ClientMetric metric;
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return {name, help, type, {std::move(metric)}};
}

// Returns when the machine started, in seconds since 1970.
std::optional<std::int64_t> BootSeconds() {
  const std::string text = process::ReadWholeProcFile("/proc/stat");
  for (const std::string_view line : base::Split(text, '\n')) {
    if (line.starts_with("btime ")) return base::ParseInteger(line.substr(6));
  }
  return std::nullopt;
}

// Returns how many there are without the one that reads the list.
std::size_t OpenDescriptors() {
  std::size_t count = 0;
  process::ForEachProcEntry("/proc/self/fd", [&](const std::filesystem::path&) { ++count; });
  return count > 0 ? count - 1 : 0;
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics::Collect() const {
  std::vector<MetricFamily> families;
  families.push_back(Family("eidolon_build_info", "1, with the version of Eidolon as a label",
                            MetricType::Gauge, 1));
  families.back().metric.front().label = {{"version", EIDOLON_VERSION}};
  const auto stat = process::ParseProcStat(process::ReadProcFile("/proc/self/stat"));
  if (!stat) return families;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  families.push_back(Family("process_cpu_seconds_total",
                            "Processor time of the program, user and system", MetricType::Counter,
                            static_cast<double>(stat->cpu_ticks) / ticks));
  families.push_back(Family(
      "process_resident_memory_bytes", "Memory of the program that is resident", MetricType::Gauge,
      static_cast<double>(stat->resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE))));
  families.push_back(Family("process_virtual_memory_bytes", "Address space of the program",
                            MetricType::Gauge, static_cast<double>(stat->virtual_bytes)));
  families.push_back(Family("process_open_fds", "Descriptors that the program has open",
                            MetricType::Gauge, static_cast<double>(OpenDescriptors())));
  if (rlimit limit{}; getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families.push_back(Family("process_max_fds", "Descriptors that the program may have open",
                              MetricType::Gauge, static_cast<double>(limit.rlim_cur)));
  }
  if (const auto boot = BootSeconds()) {
    families.push_back(
        Family("process_start_time_seconds", "When the program started, in seconds since 1970",
               MetricType::Gauge,
               static_cast<double>(*boot) + static_cast<double>(stat->start_ticks) / ticks));
  }
  return families;
}

}  // namespace eidolon::runtime
