#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "services/base/check.h"
#include "services/base/error.h"
#include "services/base/hash.h"
#include "services/base/random.h"
#include "services/base/sim_time.h"
#include "services/base/text.h"

namespace eidolon::base {
namespace {

TEST(SimTimeTest, OneByteAt400GigabitLasts20Picoseconds) {
  EXPECT_EQ(TransferTime(1, 50'000'000'000u), Duration::Picoseconds(20));
}

TEST(SimTimeTest, TransferTimeRoundsUp) {
  EXPECT_EQ(TransferTime(1, 3'000'000'000'000u), Duration::Picoseconds(1));
}

TEST(SimTimeTest, SumsStayWithinRange) {
  const Duration longest{SimTime::Max().ps};
  EXPECT_EQ(SimTime{5} + longest, SimTime::Max());
  EXPECT_EQ((longest + longest).ps, SimTime::Max().ps);
  SimTime time{7};
  time += longest;
  EXPECT_EQ(time, SimTime::Max());
  EXPECT_EQ((Duration{-5} + Duration{std::numeric_limits<std::int64_t>::min()}).ps,
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(TransferTime(~std::uint64_t{0}, 1).ps, SimTime::Max().ps);
}

TEST(SimTimeTest, TransferOfAnExabyteDoesNotOverflow) {
  EXPECT_EQ(TransferTime(1ull << 50, 1ull << 40).ps, 1'024'000'000'000'000);
}

TEST(HashTest, DependsOnEveryByteAndOnTheLength) {
  std::string text(100, 'x');
  const auto hash = Hash64(text.data(), text.size());
  for (char& c : text) {
    c = 'y';
    EXPECT_NE(Hash64(text.data(), text.size()), hash);
    c = 'x';
  }
  EXPECT_NE(Hash64(text.data(), 99), hash);
}

TEST(HashTest, StaysTheSameAcrossVersions) {
  EXPECT_EQ(Hash64("eidolon", 7), 0xb9f2a9239e4e1f3au);
  EXPECT_EQ(Hash64(nullptr, 0), Hash64("", 0));
  // The value that xxHash publishes for the empty input.
  EXPECT_EQ(Hash128("", 0), (Digest{0x99aa06d3014798d8u, 0x6001c324468d497fu}));
  EXPECT_EQ(Hash128("eidolon", 7), (Digest{0x55761179ceec536fu, 0xcc2602c3447de44au}));
}

TEST(TextTest, StrCatWritesTextsCharactersAndNumbers) {
  const std::string text = "text";
  const std::uint8_t byte = 65;
  EXPECT_EQ(StrCat("a ", text, '-', std::string_view("view"), byte), "a text-view65");
  EXPECT_EQ(StrCat(-1, ' ', std::numeric_limits<std::int64_t>::min(), ' ',
                   std::numeric_limits<std::uint64_t>::max()),
            "-1 -9223372036854775808 18446744073709551615");
  EXPECT_EQ(StrCat(0.1, ' ', 1.0 / 3, ' ', 1e9, ' ', 2.0f, ' ', true), "0.1 0.333333 1e+09 2 1");
  EXPECT_EQ(StrCat(), "");
}

TEST(RandomTest, BelowStaysBelow) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Below(10), 10u);
}

TEST(TextTest, ParsesWholeIntegersOnly) {
  EXPECT_EQ(ParseInteger("-42"), -42);
  for (const char* bad : {"", " 1", "1 ", "1.0", "0x1", "99999999999999999999"}) {
    EXPECT_FALSE(ParseInteger(bad)) << bad;
  }
}

TEST(TextTest, ParsesWholeFiniteNumbersOnly) {
  EXPECT_EQ(ParseNumber("1e3"), 1000.0);
  for (const char* bad : {"", "nan", "inf", "1e999", "1,5"}) EXPECT_FALSE(ParseNumber(bad)) << bad;
}

TEST(TextTest, SplitKeepsEmptyParts) {
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
}

TEST(TextTest, SuggestsTheNearestNameOrNone) {
  const std::vector<std::string> names = {"H100-SXM5-80GB", "A100-SXM4-80GB"};
  EXPECT_EQ(NearestName("H100-SXM-80GB", names), "H100-SXM5-80GB");
  EXPECT_EQ(NearestName("TPUv5", names), std::nullopt);
  const std::vector<std::string> commands = {"up", "run", "get"};
  EXPECT_EQ(NearestName("rnu", commands), "run");  // One exchange, however short the word.
  EXPECT_EQ(NearestName("nur", commands), std::nullopt);
}

TEST(ErrorTest, WrapPutsTheContextInFront) {
  const Result<int> result = Wrap("reading x", Error{ErrorCode::kNotFound, "no such file"});
  EXPECT_EQ(result.error().message, "reading x: no such file");
}

TEST(CheckDeathTest, NamesTheBrokenCondition) { EXPECT_DEATH(CHECK(1 + 1 == 3), "1 \\+ 1 == 3"); }

}  // namespace
}  // namespace eidolon::base
