#include "services/controller/embedded/processor_time.h"

#include <gtest/gtest.h>

namespace eidolon::controller::embedded {
namespace {

TEST(ProcessorTimeTest, CountsWaitingForADiskAsIdle) {
  const auto before = ParseProcessorTime(
      "cpu  100 0 100 700 100 0 0 0 0 0\n"
      "cpu0 50 0 50 350 50 0 0 0 0 0\n"
      "cpu1 50 0 50 350 50 0 0 0 0 0\n"
      "intr 1 2 3\n");
  const auto after = ParseProcessorTime("cpu 160 0 115 710 110 0 0 5 0 0\ncpu0 1\ncpu1 1\n");
  ASSERT_TRUE(before && after);

  const auto load = LoadBetween(*before, *after);

  ASSERT_TRUE(load);
  EXPECT_EQ(load->processors, 2u);
  EXPECT_DOUBLE_EQ(load->busy, 0.8);
}

TEST(ProcessorTimeTest, SaysNothingAboutOtherTexts) {
  EXPECT_FALSE(ParseProcessorTime(""));
  EXPECT_FALSE(ParseProcessorTime("cpu"));
  EXPECT_FALSE(ParseProcessorTime("cpu 1 2 3 4\ncpu0 1"));
  EXPECT_FALSE(ParseProcessorTime("cpu 1 2 3 4 5 6 7 -8\ncpu0 1"));
  EXPECT_FALSE(ParseProcessorTime("cpu0 1 2 3 4 5 6 7 8\n"));
  EXPECT_FALSE(ParseProcessorTime("cpu 1 2 3 4 5 6 7 8\nintr"));
}

TEST(ProcessorTimeTest, SaysNothingWhenNoTimeHasPassed) {
  const ProcessorTime time{.processors = 1, .busy = 5, .all = 10};

  EXPECT_FALSE(LoadBetween(time, time));
}

TEST(ProcessorTimeTest, ReadsThisMachine) {
  const auto time = ReadProcessorTime();

  ASSERT_TRUE(time);
  EXPECT_GT(time->busy, 0u);
}

}  // namespace
}  // namespace eidolon::controller::embedded
