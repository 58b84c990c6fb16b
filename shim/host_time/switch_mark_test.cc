#include "shim/host_time/switch_mark.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace eidolon::shim::host_time {
namespace {

class SwitchMarkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!MarksWork()) GTEST_SKIP() << "this machine registers no restartable sequences";
  }
};

void SleepAMillisecond() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

TEST_F(SwitchMarkTest, AWaitRemovesTheMark) {
  SetSwitchMark();
  SleepAMillisecond();
  EXPECT_TRUE(WasSwitched());
}

TEST_F(SwitchMarkTest, AMarkMostlyStaysWithoutAWait) {
  int stayed = 0;
  for (int i = 0; i < 1000; ++i) {
    SetSwitchMark();
    if (!WasSwitched()) ++stayed;
  }
  EXPECT_GT(stayed, 900);
}

TEST_F(SwitchMarkTest, EveryThreadHasItsOwn) {
  SetSwitchMark();
  std::thread([] { EXPECT_TRUE(WasSwitched()); }).join();
}

TEST_F(SwitchMarkTest, SettingItAgainRestoresIt) {
  bool seen = false;
  for (int i = 0; i < 100 && !seen; ++i) {
    SleepAMillisecond();
    SetSwitchMark();
    seen = !WasSwitched();
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace eidolon::shim::host_time
