#include "services/agent/clock/quiescence.h"

#include <gtest/gtest.h>

namespace eidolon::agent::clock {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(QuiescenceTest, NeedsTwoLooks) {
  int looks = 0;
  Quiescence quiescence([&] {
    ++looks;
    return true;
  });
  quiescence.NoteActivity(0);

  EXPECT_FALSE(quiescence.Poll(5 * kMs));
  EXPECT_EQ(looks, 0) << "too soon after activity";
  EXPECT_FALSE(quiescence.Poll(10 * kMs));
  EXPECT_FALSE(quiescence.Poll(12 * kMs));
  EXPECT_TRUE(quiescence.Poll(15 * kMs));
  EXPECT_EQ(looks, 2);
}

TEST(QuiescenceTest, ActivityWithdrawsTheClaim) {
  Quiescence quiescence([] { return true; });
  quiescence.NoteActivity(0);
  quiescence.Poll(10 * kMs);
  ASSERT_TRUE(quiescence.Poll(20 * kMs));

  quiescence.NoteActivity(21 * kMs);

  EXPECT_FALSE(quiescence.Poll(22 * kMs));
}

TEST(QuiescenceTest, LooksAgainWhileQuietAndNoticesWhoWokeUp) {
  bool asleep = true;
  Quiescence quiescence([&] { return asleep; });
  quiescence.NoteActivity(0);
  quiescence.Poll(10 * kMs);
  ASSERT_TRUE(quiescence.Poll(20 * kMs));

  asleep = false;

  EXPECT_FALSE(quiescence.Poll(1'000 * kMs));
}

TEST(QuiescenceTest, LooksRarelyWhileProcessesRun) {
  int looks = 0;
  Quiescence quiescence([&] {
    ++looks;
    return false;
  });
  quiescence.NoteActivity(0);

  for (int ms = 0; ms < 2'000; ++ms) quiescence.Poll(ms * kMs);

  EXPECT_LE(looks, 16);
}

}  // namespace
}  // namespace eidolon::agent::clock
