#include "services/cli/bench/google_benchmark.h"

#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::cli::bench {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using nlohmann::json;

namespace {

constexpr std::string_view kMedian = "median";

double NanosecondsOf(const std::string& unit) {
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  return unit == "s" ? 1e9 : 1;
}

// Numbers that are part of every entry and no counters.
bool IsBookkeeping(const std::string& key) {
  return key == "family_index" || key == "per_family_instance_index" || key == "repetitions" ||
         key == "threads" || key == "iterations" || key == "real_time" || key == "cpu_time" ||
         key == "repetition_index";
}

BenchmarkResult ResultOf(const json& entry) {
  const double unit = NanosecondsOf(entry.value("time_unit", "ns"));
  BenchmarkResult result{.real_ns = entry.value("real_time", 0.0) * unit,
                         .cpu_ns = entry.value("cpu_time", 0.0) * unit,
                         .counters = {}};
  for (const auto& [key, value] : entry.items()) {
    if (value.is_number() && !IsBookkeeping(key)) result.counters[key] = value.get<double>();
  }
  return result;
}

}  // namespace

Result<BenchmarkResults> ParseBenchmarkOutput(const std::string& text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("benchmarks")) {
    return Fail(ErrorCode::kCorrupt, "the output is not a document of Google Benchmark");
  }
  BenchmarkResults results;
  for (const json& entry : document["benchmarks"]) {
    const std::string name = entry.value("run_name", entry.value("name", ""));
    if (entry.value("error_occurred", false)) {
      return Fail(ErrorCode::kInternal, StrCat(name, ": ", entry.value("error_message", "failed")));
    }
    if (entry.value("aggregate_name", std::string(kMedian)) == kMedian) {
      results[name] = ResultOf(entry);
    }
  }
  return results;
}

std::vector<std::string> BenchmarkFlags(const std::string& filter, int repetitions,
                                        double seconds_min) {
  return {"--benchmark_format=json", "--benchmark_filter=" + filter,
          StrCat("--benchmark_repetitions=", repetitions),
          StrCat("--benchmark_min_time=", seconds_min), "--benchmark_report_aggregates_only=true"};
}

}  // namespace eidolon::cli::bench
