#include "services/agent/server/sleep_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::agent::server {
namespace {

using base::Duration;
using base::SimTime;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kSecondPs = 1'000'000'000'000;

SimTime Seconds(std::int64_t s) { return SimTime{} + Duration::Milliseconds(1000 * s); }

::eidolon::ring::VirtualSleep Until(std::uint64_t seconds, std::uint64_t patience_ns = 0) {
  return {.magic = ::eidolon::ring::kVirtualSleepMagic,
          .version = 1,
          .pid = 1,
          .moment_ps = seconds * kSecondPs,
          .length_ps = 0,
          .patience_ns = patience_ns};
}

::eidolon::ring::VirtualSleep For(std::uint64_t seconds) {
  auto virtual_sleep = Until(0);
  virtual_sleep.length_ps = seconds * kSecondPs;
  return virtual_sleep;
}

TEST(SleepTableTest, ALengthBeginsAtTheLatestClockAndAMomentIsOne) {
  SleepTable table;

  EXPECT_EQ(table.Next(), std::nullopt);
  EXPECT_TRUE(table.Begin(1, For(100), Seconds(50), 0));
  EXPECT_EQ(table.Next(), Seconds(150));
  EXPECT_TRUE(table.Begin(2, Until(120), Seconds(50), 0));
  EXPECT_EQ(table.Next(), Seconds(120));
}

TEST(SleepTableTest, TellsWhoseMomentHasPassed) {
  SleepTable table;
  table.Begin(1, Until(10), {}, 0);
  table.Begin(2, Until(20), {}, 0);
  table.Begin(3, Until(30), {}, 0);
  table.Begin(4, For(15), {}, 0);

  EXPECT_THAT(table.TakeReached(Seconds(14)), IsEmpty());
  EXPECT_THAT(table.TakeReached(Seconds(15)), ElementsAre(4)) << "ranks look at their own clocks";
  EXPECT_THAT(table.TakeSafe(Seconds(9)), IsEmpty());
  EXPECT_THAT(table.TakeSafe(Seconds(20)), ElementsAre(1, 2));
  EXPECT_THAT(table.TakeSafe(Seconds(20)), IsEmpty());
  EXPECT_TRUE(table.End(3));
  EXPECT_FALSE(table.End(3));
  EXPECT_EQ(table.Next(), std::nullopt);
}

TEST(SleepTableTest, APatientVirtualSleepHoldsBackWhatIsLaterOnly) {
  SleepTable table;
  table.Begin(1, Until(10, /*patience_ns=*/500), {}, 1000);

  EXPECT_TRUE(table.HoldsBack(std::nullopt, 1499));
  EXPECT_TRUE(table.HoldsBack(Seconds(11), 1499));
  EXPECT_FALSE(table.HoldsBack(Seconds(9), 1499)) << "what is earlier may happen";
  EXPECT_FALSE(table.HoldsBack(Seconds(11), 1500));
  table.Begin(2, Until(5), {}, 1000);
  EXPECT_FALSE(table.HoldsBack(std::nullopt, 1499)) << "the earliest is not patient";
}

// A rank that looks at its child again and again sleeps between two looks: its own deadline is
// earlier than the end of the child's sleep, though it has not asked for it yet.
TEST(SleepTableTest, PatienceBeginsAnewWithWhateverHappens) {
  SleepTable table;
  ASSERT_TRUE(table.Begin(1, Until(10, 500), {}, 1000));

  table.NoteActivity(1400);

  EXPECT_TRUE(table.HoldsBack(std::nullopt, 1899));
  EXPECT_FALSE(table.HoldsBack(std::nullopt, 1900));
}

TEST(SleepTableTest, NothingEndsBeyondTheEndOfTime) {
  SleepTable table;
  const auto end = static_cast<std::uint64_t>(::eidolon::ring::kEndOfTimePs);

  auto virtual_sleep = Until(1);
  virtual_sleep.moment_ps = end + 1;
  EXPECT_FALSE(table.Begin(1, virtual_sleep, {}, 0));
  virtual_sleep = For(0);
  virtual_sleep.length_ps = ~std::uint64_t{0};
  EXPECT_FALSE(table.Begin(1, virtual_sleep, Seconds(5), 0));
  virtual_sleep.length_ps = end - 5 * kSecondPs;
  EXPECT_TRUE(table.Begin(1, virtual_sleep, Seconds(5), 0));
  EXPECT_EQ(table.Next()->ps, ::eidolon::ring::kEndOfTimePs);
}

}  // namespace
}  // namespace eidolon::agent::server
