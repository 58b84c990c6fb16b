#include "shim/core/tick_rate.h"

#include <gtest/gtest.h>

#include <functional>

namespace eidolon::shim::core {
namespace {

// Three ticks a nanosecond; a reading takes 20 ns, and the operating system may stop the thread
// before one.
class Machine {
 public:
  // `pause(n)`: nanoseconds that pass before reading n (counted from 1).
  explicit Machine(std::function<std::int64_t(int)> pause) : pause_(std::move(pause)) {}

  double PsPerTick() {
    return MeasurePsPerTick(
        5'000, [&] { return Read(); }, [&] { return static_cast<std::uint64_t>(Read()) * 3; });
  }
  int readings() const { return readings_; }

 private:
  std::int64_t Read() {
    now_ns_ += 20 + pause_(++readings_);
    return now_ns_;
  }

  std::function<std::int64_t(int)> pause_;
  std::int64_t now_ns_ = 1'000'000;
  int readings_ = 0;
};

TEST(TickRateTest, IsThatOfTheCounter) {
  Machine machine([](int) { return 0; });

  EXPECT_NEAR(machine.PsPerTick(), 1000.0 / 3, 0.001);
}

TEST(TickRateTest, APauseBeforeAnyReadingDoesNotChangeIt) {
  Machine undisturbed([](int) { return 0; });
  undisturbed.PsPerTick();

  for (int paused = 1; paused <= undisturbed.readings(); ++paused) {
    Machine machine([paused](int reading) { return reading == paused ? 4'000'000 : 0; });
    ASSERT_NEAR(machine.PsPerTick(), 1000.0 / 3, 0.001) << "paused before reading " << paused;
  }
}

TEST(TickRateTest, PausesBeforeMostReadingsDoNotChangeIt) {
  Machine machine([](int reading) { return reading % 7 < 4 ? 300'000 : 0; });

  EXPECT_NEAR(machine.PsPerTick(), 1000.0 / 3, 0.001);
}

}  // namespace
}  // namespace eidolon::shim::core
