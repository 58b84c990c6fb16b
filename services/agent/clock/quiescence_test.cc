#include "services/agent/clock/quiescence.h"

#include <gtest/gtest.h>

namespace eidolon::agent::clock {
namespace {

constexpr std::int64_t kMs = 1'000'000;

bool NoNews() { return false; }

TEST(QuiescenceTest, NeedsTwoLooks) {
  int looks = 0;
  Quiescence quiescence(
      [&] {
        ++looks;
        return Look::kStill;
      },
      NoNews);
  quiescence.NoteActivity(0);

  EXPECT_FALSE(quiescence.Poll(5 * kMs));
  EXPECT_EQ(looks, 0) << "too soon after activity";
  EXPECT_FALSE(quiescence.Poll(10 * kMs));
  EXPECT_FALSE(quiescence.Poll(12 * kMs));
  EXPECT_TRUE(quiescence.Poll(15 * kMs));
  EXPECT_EQ(looks, 2);
}

TEST(QuiescenceTest, LooksEarlyOnceWhereEveryoneAsks) {
  Look seen = Look::kWorking;
  int looks = 0;
  const auto look = [&] {
    ++looks;
    return seen;
  };
  Quiescence quiescence(look, NoNews);
  quiescence.NoteActivity(0);
  EXPECT_FALSE(quiescence.Poll(kMs, true));
  EXPECT_FALSE(quiescence.Poll(2 * kMs, true));
  EXPECT_EQ(looks, 1) << "the next one waits its time";

  seen = Look::kStill;
  quiescence.NoteActivity(20 * kMs);
  EXPECT_FALSE(quiescence.Poll(21 * kMs, true));
  EXPECT_FALSE(quiescence.Poll(25 * kMs, true));
  EXPECT_TRUE(quiescence.Poll(26 * kMs, true));
  EXPECT_EQ(looks, 3);
}

TEST(QuiescenceTest, ActivityWithdrawsTheClaim) {
  Quiescence quiescence([] { return Look::kStill; }, NoNews);
  quiescence.NoteActivity(0);
  quiescence.Poll(10 * kMs);
  ASSERT_TRUE(quiescence.Poll(20 * kMs));

  quiescence.NoteActivity(21 * kMs);

  EXPECT_FALSE(quiescence.Poll(22 * kMs));
}

TEST(QuiescenceTest, WhoSpokeDuringALookWasNotAsleep) {
  bool spoke = false;
  Quiescence quiescence(
      [&] {
        spoke = true;
        return Look::kStill;
      },
      [&] { return spoke; });
  quiescence.NoteActivity(0);
  quiescence.Poll(10 * kMs);
  EXPECT_FALSE(quiescence.Poll(20 * kMs));

  spoke = false;

  EXPECT_FALSE(quiescence.Poll(21 * kMs)) << "what it said is activity like any other";
}

TEST(QuiescenceTest, LooksThatLeadToNothingComeLater) {
  Look seen = Look::kWorking;
  std::int64_t now = 0;
  Quiescence quiescence([&] { return seen; }, NoNews, [] { return std::int64_t{0}; });
  // Milliseconds from an activity to the claim.
  const auto until_claim = [&] {
    quiescence.NoteActivity(now);
    seen = Look::kStill;
    const std::int64_t before = now;
    while (!quiescence.Poll(now) && now - before < 1000 * kMs) now += kMs;
    return (now - before) / kMs;
  };
  EXPECT_EQ(until_claim(), 15);

  seen = Look::kWorking;
  for (int vain = 0; vain < 10; ++vain) {
    quiescence.NoteActivity(now);
    now += 100 * kMs;
    quiescence.Poll(now);
  }
  EXPECT_EQ(until_claim(), 105) << "no later than this";
  EXPECT_EQ(until_claim(), 15) << "a claim shows that looking is worth it";
}

TEST(QuiescenceTest, DearLooksComeLater) {
  std::int64_t spent = 0;
  int looks = 0;
  Quiescence quiescence(
      [&] {
        ++looks;
        spent += 4 * kMs;
        return Look::kStill;
      },
      NoNews, [&] { return spent; });
  quiescence.NoteActivity(0);
  quiescence.Poll(10 * kMs);
  ASSERT_EQ(looks, 1) << "nobody knows yet what it takes";

  quiescence.NoteActivity(20 * kMs);
  quiescence.Poll(55 * kMs);
  EXPECT_EQ(looks, 1);
  EXPECT_FALSE(quiescence.Poll(56 * kMs));
  EXPECT_TRUE(quiescence.Poll(61 * kMs)) << "the second comes soon, whatever it takes";
}

TEST(QuiescenceTest, LooksAgainWhileQuietAndNoticesWhoWokeUp) {
  Look look = Look::kStill;
  Quiescence quiescence([&] { return look; }, NoNews);
  quiescence.NoteActivity(0);
  quiescence.Poll(10 * kMs);
  ASSERT_TRUE(quiescence.Poll(20 * kMs));

  look = Look::kWorking;

  EXPECT_FALSE(quiescence.Poll(1'000 * kMs));
}

TEST(QuiescenceTest, ThreadsThatPollDoNotEndItButKeepItFromBeginning) {
  Look look = Look::kPolling;
  Quiescence quiescence([&] { return look; }, NoNews);
  quiescence.NoteActivity(0);
  std::int64_t now = 0;
  const auto polls_for = [&](std::int64_t ms) {
    bool claimed = false;
    for (const std::int64_t end = now + ms * kMs; now < end; now += kMs) {
      claimed = quiescence.Poll(now);
    }
    return claimed;
  };

  EXPECT_FALSE(polls_for(1'000));
  look = Look::kStill;
  EXPECT_TRUE(polls_for(500));
  look = Look::kPolling;
  EXPECT_TRUE(polls_for(5'000));
  look = Look::kWorking;
  EXPECT_FALSE(polls_for(500));
}

TEST(QuiescenceTest, LooksRarelyWhileProcessesRun) {
  int looks = 0;
  Quiescence quiescence(
      [&] {
        ++looks;
        return Look::kWorking;
      },
      NoNews);
  quiescence.NoteActivity(0);

  for (int ms = 0; ms < 2'000; ++ms) quiescence.Poll(ms * kMs);

  EXPECT_LE(looks, 16);
}

}  // namespace
}  // namespace eidolon::agent::clock
