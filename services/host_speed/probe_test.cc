#include "services/host_speed/probe.h"

#include <gtest/gtest.h>

#include <thread>

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

}  // namespace
}  // namespace eidolon::host_speed
