// Measures the cost of finding the critical path of an iteration, from the bytes of the file on.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "services/contract/critical_path/summary.h"
#include "services/contract/critical_path/trace_file.h"

namespace eidolon::critical_path {
namespace {

constexpr std::uint32_t kCollectiveEvery = 16;
constexpr std::uint32_t kNames = 400;  // Distinct launches of a step of a large model.
constexpr std::int64_t kGap = 1'000'000;

// Each rank is late for some collectives; its GPU is never idle, so the path goes through as many
// operations as a rank has.
std::vector<RankTrace> Iteration(std::uint32_t ranks, std::uint32_t operations) {
  std::vector<RankTrace> traces(ranks);
  std::vector<std::int64_t> times(ranks, 0);
  std::uint64_t noise = 1;
  for (std::uint32_t i = 0; i < operations; ++i) {
    const bool is_collective = i % kCollectiveEvery == kCollectiveEvery - 1;
    const std::int64_t last = *std::ranges::max_element(times) + kGap;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      noise = noise * 6364136223846793005u + 1442695040888963407u;
      const std::int64_t ready = times[rank] + kGap;
      const std::int64_t start = is_collective ? last : ready;
      times[rank] =
          start + (is_collective
                       ? 20'000'000
                       : static_cast<std::int64_t>(2'000'000 + (noise >> 40) % 12'000'000));
      RankTrace& trace = traces[rank];
      trace.host_events.push_back(
          {.begin = {ready / 2}, .end = {ready / 2 + 1}, .name = i % kNames});
      trace.operations.push_back(
          {.ready = {ready},
           .start = {start},
           .finish = {times[rank]},
           .name = i % kNames,
           .released_by = i,
           .call = i + 1,
           .kind = is_collective ? OperationKind::kCommunication : OperationKind::kKernel});
      if (!is_collective) continue;
      trace.communication.push_back({.communicator = 1,
                                     .call = i,
                                     .operation = i,
                                     .member = static_cast<std::int32_t>(rank)});
    }
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    traces[rank].rank = static_cast<std::int32_t>(rank);
    traces[rank].finish = {times[rank]};
    traces[rank].launch_gaps = {{kGap}};
    for (std::uint32_t i = 0; i < kNames; ++i) {
      traces[rank].names.push_back("kernel_" + std::to_string(i));
    }
  }
  return traces;
}

// A million operations together.
void BM_FindCriticalPath(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  std::ostringstream out;
  for (const RankTrace& trace : Iteration(ranks, 1'000'000 / ranks)) Write(trace, &out);
  const std::string file = out.str();
  std::uint64_t segments = 0;
  for (auto _ : state) {
    const auto traces = Parse(std::as_bytes(std::span(file)));
    segments = Summarise(*traces).segments;
  }
  state.SetItemsProcessed(1'000'000 * state.iterations());
  state.counters["file_bytes"] = static_cast<double>(file.size());
  state.counters["segments"] = static_cast<double>(segments);
}
BENCHMARK(BM_FindCriticalPath)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eidolon::critical_path
