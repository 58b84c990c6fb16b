// Time in a rank that starts up: before its first work, its waiting does not count as simulated
// time.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/program/time/test_world.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// GoogleTest reads the clock before any test runs, and what a process belongs to is decided then.
core::FakeAgent& MakeRank() {
  setenv("RANK", "1", 1);
  return core::FakeAgent::Start();
}
core::FakeAgent& fake_agent = MakeRank();

// One life of a process: before its session, before its first work, and after.
TEST(StartUpTimeTest, OnlyTheProgramsClocksShowWhatARankWaitsBeforeItsFirstWork) {
  const std::int64_t born = ReadNs(CLOCK_MONOTONIC);
  RealTimer timer;
  ::usleep(30'000);
  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - born, 30'000'000) << "before the session";

  core::Session& session = *core::Session::Get();
  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - born, 30'000'000) << "the session goes on there";
  ::usleep(20'000);
  EXPECT_GE(timer.Seconds(), 0.05) << "others that start up need the time";
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  condition.wait_for(lock, std::chrono::milliseconds(50), [] { return false; });
  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - born, 100'000'001);
  ::sleep(3600);
  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - born, 3600 * kSecond + 100'000'001);
  EXPECT_LT(timer.Seconds(), kSoon);
  EXPECT_EQ(core::Now(), base::SimTime{}) << "nothing of it is simulated time";
  EXPECT_TRUE(fake_agent.RecordsOf(ring::RecordKind::kWaitUntil).empty());

  ring::EventRecord work{};
  work.header.kind = ring::RecordKind::kEventRecord;
  core::Append(session, work);
  const std::int64_t begun = ReadNs(CLOCK_MONOTONIC);
  EXPECT_EQ(begun - born, 3610 * kSecond) << "however often it slept, work begins at whole tens";
  ::sleep(5);
  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - begun, 5 * kSecond);
  EXPECT_EQ(core::Now(), base::SimTime{} + base::Duration::Milliseconds(5000));
  const auto asked = fake_agent.RecordsOf(ring::RecordKind::kWaitUntil);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].As<ring::WaitRecord>().id, std::uint64_t{5'000'000'000'000});
}

}  // namespace
}  // namespace eidolon::shim::time
