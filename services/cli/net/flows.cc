#include "services/cli/net/flows.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/network/replay/replay.h"

namespace eidolon::cli::net {
namespace {

namespace replay = network::replay;

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// Peak resident memory of the process in MiB.
double PeakMebibytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kibibytes = 0;
  while (status >> word) {
    if (word == "VmHWM:") {
      status >> kibibytes;
      break;
    }
  }
  return kibibytes / 1024;
}

double EventsPerSecond(const replay::ReplayResult& result) {
  return static_cast<double>(result.events) / std::max(result.seconds, 1e-9);
}

Result<void> Dump(const std::string& path, const replay::ReplayResult& result) {
  std::string lines;
  std::array<char, 32> line{};
  for (base::SimTime finish : result.finish) {
    std::snprintf(line.data(), line.size(), "%.0f\n", static_cast<double>(finish.ps) * 1e-3);
    lines += line.data();
  }
  return base::WriteFile(path, lines);
}

}  // namespace

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Result<std::string> ReplayFlows(const FlowsOptions& options) {
  const auto file = replay::LoadFlowFile(options.file);
  if (!file) return std::unexpected(file.error());
  const replay::ReplayResult result = replay::Replay(*file, {.processor_seconds = ProcessorSeconds,
                                                             .limit_seconds = options.limit_seconds,
                                                             .first_only = options.first_only});
  if (!options.dump.empty()) {
    if (auto dumped = Dump(options.dump, result); !dumped) return std::unexpected(dumped.error());
  }
  std::int64_t last = 0;
  for (base::SimTime finish : result.finish) {
    if (finish != base::SimTime::Max()) last = std::max(last, finish.ps);
  }
  const double steady = static_cast<double>(result.events - result.events_first) /
                        std::max(result.seconds - result.first_solve_seconds, 1e-9);
  char text[768];
  std::snprintf(
      text, sizeof text,
      "{\"sim\":\"eidolon\",\"workload\":\"%s\",\"flows\":%zu,\"completed\":%llu,\"truncated\":%s,"
      "\"wall_sim_s\":%.6f,\"cpu_first_solve_s\":%.6f,\"cpu_sim_s\":%.6f,"
      "\"completion_steps\":%llu,\"events\":%llu,\"events_per_s\":%.1f,"
      "\"steady_events_per_s\":%.1f,\"makespan_ns\":%.0f,\"rss_mib\":%.1f,\"engine_mib\":%.1f,"
      "\"links_solved\":%llu,\"full_solutions\":%llu}\n",
      file->name.c_str(), file->flows.size(), static_cast<unsigned long long>(result.completed),
      result.truncated ? "true" : "false", result.seconds, result.first_solve_seconds,
      result.seconds, static_cast<unsigned long long>(result.instants),
      static_cast<unsigned long long>(result.events), EventsPerSecond(result), steady,
      static_cast<double>(last) * 1e-3, PeakMebibytes(),
      static_cast<double>(result.bytes_used) / (1 << 20),
      static_cast<unsigned long long>(result.counters.links),
      static_cast<unsigned long long>(result.counters.full));
  return std::string(text);
}

}  // namespace eidolon::cli::net
