#include "services/agent/server/nap_book.h"

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

::eidolon::ring::Nap Until(std::uint64_t seconds, std::uint64_t patience_ns = 0) {
  return {.magic = ::eidolon::ring::kNapMagic,
          .version = 1,
          .pid = 1,
          .moment_ps = seconds * kSecondPs,
          .length_ps = 0,
          .patience_ns = patience_ns};
}

::eidolon::ring::Nap For(std::uint64_t seconds) {
  auto nap = Until(0);
  nap.length_ps = seconds * kSecondPs;
  return nap;
}

TEST(NapBookTest, ALengthBeginsAtTheLatestClockAndAMomentIsOne) {
  NapBook book;

  EXPECT_EQ(book.Next(), std::nullopt);
  EXPECT_TRUE(book.Begin(1, For(100), Seconds(50), 0));
  EXPECT_EQ(book.Next(), Seconds(150));
  EXPECT_TRUE(book.Begin(2, Until(120), Seconds(50), 0));
  EXPECT_EQ(book.Next(), Seconds(120));
}

TEST(NapBookTest, TellsWhoseMomentHasPassed) {
  NapBook book;
  book.Begin(1, Until(10), {}, 0);
  book.Begin(2, Until(20), {}, 0);
  book.Begin(3, Until(30), {}, 0);
  book.Begin(4, For(15), {}, 0);

  EXPECT_THAT(book.TakeReached(Seconds(14)), IsEmpty());
  EXPECT_THAT(book.TakeReached(Seconds(15)), ElementsAre(4)) << "ranks look at their own clocks";
  EXPECT_THAT(book.TakeSafe(Seconds(9)), IsEmpty());
  EXPECT_THAT(book.TakeSafe(Seconds(20)), ElementsAre(1, 2));
  EXPECT_THAT(book.TakeSafe(Seconds(20)), IsEmpty());
  EXPECT_TRUE(book.End(3));
  EXPECT_FALSE(book.End(3));
  EXPECT_EQ(book.Next(), std::nullopt);
}

TEST(NapBookTest, APatientNapHoldsBackWhatIsLaterOnly) {
  NapBook book;
  book.Begin(1, Until(10, /*patience_ns=*/500), {}, 1000);

  EXPECT_TRUE(book.HoldsBack(std::nullopt, 1499));
  EXPECT_TRUE(book.HoldsBack(Seconds(11), 1499));
  EXPECT_FALSE(book.HoldsBack(Seconds(9), 1499)) << "what is earlier may happen";
  EXPECT_FALSE(book.HoldsBack(Seconds(11), 1500));
  book.Begin(2, Until(5), {}, 1000);
  EXPECT_FALSE(book.HoldsBack(std::nullopt, 1499)) << "the earliest is not patient";
}

// A rank that looks at its child again and again sleeps between two looks: its own deadline is
// earlier than the end of the child's sleep, though nobody has told it yet.
TEST(NapBookTest, PatienceBeginsAnewWithWhateverHappens) {
  NapBook book;
  ASSERT_TRUE(book.Begin(1, Until(10, 500), {}, 1000));

  book.NoteActivity(1400);

  EXPECT_TRUE(book.HoldsBack(std::nullopt, 1899));
  EXPECT_FALSE(book.HoldsBack(std::nullopt, 1900));
}

TEST(NapBookTest, NothingEndsBeyondTheEndOfTime) {
  NapBook book;
  const auto end = static_cast<std::uint64_t>(::eidolon::ring::kEndOfTimePs);

  auto nap = Until(1);
  nap.moment_ps = end + 1;
  EXPECT_FALSE(book.Begin(1, nap, {}, 0));
  nap = For(0);
  nap.length_ps = ~std::uint64_t{0};
  EXPECT_FALSE(book.Begin(1, nap, Seconds(5), 0));
  nap.length_ps = end - 5 * kSecondPs;
  EXPECT_TRUE(book.Begin(1, nap, Seconds(5), 0));
  EXPECT_EQ(book.Next()->ps, ::eidolon::ring::kEndOfTimePs);
}

}  // namespace
}  // namespace eidolon::agent::server
