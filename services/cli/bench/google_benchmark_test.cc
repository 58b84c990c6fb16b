#include "services/cli/bench/google_benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::cli::bench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(GoogleBenchmarkTest, TakesMediansInNanosecondsWithTheirCounters) {
  const auto results = ParseBenchmarkOutput(R"({"context": {}, "benchmarks": [
    {"name": "Index/manual_time_mean", "run_name": "Index/manual_time", "aggregate_name": "mean",
     "repetitions": 3, "iterations": 3, "real_time": 9.0, "cpu_time": 9.0, "time_unit": "ms"},
    {"name": "Index/manual_time_median", "run_name": "Index/manual_time",
     "aggregate_name": "median", "repetitions": 3, "iterations": 3, "real_time": 2.5,
     "cpu_time": 2.0, "time_unit": "ms", "items_per_second": 40.0, "median_us": 7.0}]})");
  ASSERT_TRUE(results.has_value()) << results.error().message;
  ASSERT_THAT(*results, SizeIs(1));
  const BenchmarkResult& index = results->at("Index/manual_time");
  EXPECT_EQ(index.real_ns, 2.5e6);
  EXPECT_EQ(index.cpu_ns, 2e6);
  EXPECT_EQ(index.counters,
            (std::map<std::string, double>{{"items_per_second", 40}, {"median_us", 7}}));
}

TEST(GoogleBenchmarkTest, TellsWhatABenchmarkComplainsAbout) {
  const auto results = ParseBenchmarkOutput(R"({"benchmarks": [
    {"name": "Index", "run_name": "Index", "error_occurred": true,
     "error_message": "no library"}]})");
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().message, "Index: no library");
}

TEST(GoogleBenchmarkTest, RefusesOtherText) {
  EXPECT_EQ(ParseBenchmarkOutput("Segmentation fault").error().code, base::ErrorCode::kCorrupt);
  EXPECT_EQ(ParseBenchmarkOutput("[]").error().code, base::ErrorCode::kCorrupt);
}

TEST(GoogleBenchmarkTest, AsksForMedians) {
  const auto flags = BenchmarkFlags("A|B", 3, 0.02);
  EXPECT_THAT(flags, Contains("--benchmark_filter=A|B"));
  EXPECT_THAT(flags, Contains("--benchmark_repetitions=3"));
  EXPECT_THAT(flags, Contains(HasSubstr("min_time=0.02")));
}

}  // namespace
}  // namespace eidolon::cli::bench
