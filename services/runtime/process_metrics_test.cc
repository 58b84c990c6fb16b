#include "services/runtime/process_metrics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/base/clock.h"

namespace eidolon::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Le;
using ::testing::Lt;

std::map<std::string, double> Collected() {
  std::map<std::string, double> values;
  for (const prometheus::MetricFamily& family : ProcessMetrics().Collect()) {
    const prometheus::ClientMetric& metric = family.metric.at(0);
    values[family.name] =
        family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
  }
  return values;
}

TEST(ProcessMetricsTest, ProcessorTimeGrowsWithWork) {
  const double before = Collected().at("process_cpu_seconds_total");
  const base::SystemClock clock;
  const std::int64_t end = clock.MonotonicNs() + 30'000'000'000;
  double after = before;
  while (after < before + 0.05 && clock.MonotonicNs() < end) {
    after = Collected().at("process_cpu_seconds_total");
  }
  EXPECT_THAT(after - before, AllOf(Gt(0.04), Lt(30)));
}

TEST(ProcessMetricsTest, ResidentMemoryIncludesWhatTheProgramTouches) {
  constexpr std::size_t kBytes = 64 << 20;
  const double before = Collected().at("process_resident_memory_bytes");
  std::vector<char> touched(kBytes, 1);
  const double after = Collected().at("process_resident_memory_bytes");
  EXPECT_GT(after, before + kBytes / 2) << touched.back();
  EXPECT_THAT(after, Le(Collected().at("process_virtual_memory_bytes")));
}

TEST(ProcessMetricsTest, DescriptorsAreCountedWhileTheyAreOpen) {
  const double before = Collected().at("process_open_fds");
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(Collected().at("process_open_fds"), before + 1);
  close(descriptor);
  EXPECT_EQ(Collected().at("process_open_fds"), before);
  EXPECT_LE(before, Collected().at("process_max_fds"));
}

TEST(ProcessMetricsTest, TheProgramStartedNotLongAgo) {
  const double now = static_cast<double>(base::SystemClock().UnixNs()) * 1e-9;
  // The kernel rounds the moment at which the machine started to seconds.
  EXPECT_THAT(Collected().at("process_start_time_seconds"), AllOf(Gt(now - 3600), Lt(now + 2)));
}

TEST(ProcessMetricsTest, TheVersionIsALabel) {
  const auto families = ProcessMetrics().Collect();
  ASSERT_EQ(families.at(0).name, "eidolon_build_info");
  EXPECT_EQ(families.at(0).metric.at(0).label.at(0).name, "version");
  EXPECT_FALSE(families.at(0).metric.at(0).label.at(0).value.empty());
}

}  // namespace
}  // namespace eidolon::runtime
