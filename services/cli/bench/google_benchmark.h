// The results of the benchmark programs in <build>/bench, read from Google Benchmark's JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::cli::bench {

// One benchmark: the median over its repetitions.
struct BenchmarkResult {
  double real_ns = 0;  // Of one iteration.
  double cpu_ns = 0;
  std::map<std::string, double> counters;  // "items_per_second" and the benchmark's own.
};

// Results by the benchmark's name without the aggregate's: "KnownLaunch", "OverGrpc/64/real_time".
using BenchmarkResults = std::map<std::string, BenchmarkResult>;

// kCorrupt when the text is no such document; kInternal with the benchmark's own words when one
// reports an error.
base::Result<BenchmarkResults> ParseBenchmarkOutput(const std::string& text);

// The flags that make a benchmark program print what ParseBenchmarkOutput reads.
std::vector<std::string> BenchmarkFlags(const std::string& filter, int repetitions,
                                        double seconds_min);

}  // namespace eidolon::cli::bench
