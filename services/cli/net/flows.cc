#include "services/cli/net/flows.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "services/base/text.h"
#include "services/network/horizon/horizon.h"
#include "services/network/replay/replay.h"
#include "services/network/replay/workload.h"

namespace eidolon::cli::net {
namespace {

namespace replay = network::replay;

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

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
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return Fail(ErrorCode::kNotFound, StrCat("cannot write ", path));
  for (base::SimTime finish : result.finish) {
    std::fprintf(out, "%.0f\n", static_cast<double>(finish.ps) * 1e-3);
  }
  std::fclose(out);
  return {};
}

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  double goal = 0;
  bool at_most = false;  // Else at least.
};

void AddRow(const Row& row, BenchTable& table) {
  const bool met = row.at_most ? row.value <= row.goal : row.value >= row.goal;
  char line[160];
  std::snprintf(line, sizeof line, "%-46s %12.4g  %s %10.4g %-12s %s\n", row.name.c_str(),
                row.value, row.at_most ? "<=" : ">=", row.goal, row.unit.c_str(),
                met ? "met" : "MISSED");
  table.text += line;
  table.met = table.met && met;
}

void MeasureReplay(const std::string& name, const replay::FlowFile& file, double goal,
                   BenchTable& table) {
  const replay::ReplayResult result = replay::Replay(file, {.processor_seconds = ProcessorSeconds});
  AddRow({name, EventsPerSecond(result), "events/s", goal}, table);
}

void MeasureSolve(const replay::FlowFile& file, BenchTable& table) {
  const replay::ReplayResult result =
      replay::Replay(file, {.processor_seconds = ProcessorSeconds, .first_only = true});
  AddRow({StrCat("one solution of ", file.flows.size(), " flows"), result.first_solve_seconds * 1e3,
          "ms", 100, true},
         table);
}

// 8192 ranks: an agent speaks for the 8 of its server.
void MeasureHorizon(BenchTable& table) {
  constexpr std::uint64_t kSessions = 1024;
  constexpr int kRounds = 200;
  network::horizon::Horizon horizon;
  for (std::uint64_t at = 0; at < kSessions; ++at) {
    horizon.Expect(at, {0});
    horizon.Connect(at);
    if (!horizon.Keep(at, {.lower_bound = {static_cast<std::int64_t>(1000 + at)}})) return;
  }
  const double before = ProcessorSeconds();
  std::int64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) sum += horizon.Safe().ps;
  const double us = (ProcessorSeconds() - before) / kRounds * 1e6;
  if (sum > 0) AddRow({"horizon over 8192 ranks on 1024 servers", us, "us", 20, true}, table);
}

}  // namespace

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

BenchTable MeasureFlows(const BenchOptions& options) {
  const std::uint32_t part = options.quick ? 10 : 1;
  BenchTable table;
  table.text = "flow engine, one core; events are starts and ends of flows\n";
  MeasureReplay("rail rings, 8192 GPUs", replay::RailRings({.gpus = 8192, .rounds = 100 / part}),
                1e6, table);
  MeasureReplay("rail rings, 98304 GPUs", replay::RailRings({.gpus = 98304, .rounds = 10 / part}),
                0.5e6, table);
  MeasureReplay("random pairs, 8192 GPUs",
                replay::RandomPairs({.gpus = 8192, .rounds = 100 / part}), 0.2e6, table);
  MeasureReplay("random pairs, 98304 GPUs",
                replay::RandomPairs({.gpus = 98304, .rounds = 10 / part}), 0.1e6, table);
  MeasureSolve(replay::RandomPairs({.gpus = 98304, .rounds = 1}), table);
  MeasureHorizon(table);
  return table;
}

}  // namespace eidolon::cli::net
