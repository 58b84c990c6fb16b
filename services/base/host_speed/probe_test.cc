#include "services/base/host_speed/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "services/base/clock.h"

namespace eidolon::host_speed {
namespace {

TEST(ProbeTest, EveryRunComputesTheSame) {
  Probe probe;
  const std::uint64_t first = probe.Run();

  EXPECT_EQ(probe.Run(), first);
  EXPECT_EQ(Probe().Run(), first);
}

TEST(ProbeTest, ThreadsComputeTheSameSideBySide) {
  const std::uint64_t expected = Probe().Run();
  std::uint64_t results[2] = {};
  {
    std::jthread a([&] { results[0] = Probe().Run(); });
    std::jthread b([&] { results[1] = Probe().Run(); });
  }
  EXPECT_EQ(results[0], expected);
  EXPECT_EQ(results[1], expected);
}

TEST(ProbeTest, ARunTakesMicroseconds) {
  const base::Duration typical = TimeProbe(50);

  EXPECT_GT(typical, base::Duration::Microseconds(1));
  EXPECT_LT(typical, base::Duration::Milliseconds(20));
}

TEST(ProbeTest, ARunOfTheReferenceLengthIsSpeedOne) {
  EXPECT_DOUBLE_EQ(SpeedOf(kReferenceRun), 1.0);
  EXPECT_DOUBLE_EQ(SpeedOf(kReferenceRun * 2), 0.5);
}

TEST(ArithmeticTest, EveryRunComputesTheSame) {
  EXPECT_EQ(RunArithmetic(), RunArithmetic());
  EXPECT_DOUBLE_EQ(SpeedOfArithmetic(kReferenceArithmetic * 4), 0.25);
}

TEST(ArithmeticTest, ARunTakesSevenCyclesARoundOfAnyProcessorOfToday) {
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
  for (int run = 0; run < 50; ++run) {
    const std::int64_t begin = base::ThreadCpuNs();
    const std::uint64_t result = RunArithmetic();
    asm volatile("" : : "r"(result) : "memory");
    least_ns = std::min(least_ns, base::ThreadCpuNs() - begin);
  }
  // The range is from 10 GHz down to 0.2 GHz.
  EXPECT_GT(least_ns, 7'000);
  EXPECT_LT(least_ns, 400'000);
}

}  // namespace
}  // namespace eidolon::host_speed
