#include "services/agent/launch/option_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace eidolon::agent::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr auto kOptions = std::to_array<Option>(
    {{"--count", "-n"}, {"--color"}, {"--quiet", "-q", 0}, {"--pair", {}, 2}});

struct Outcome {
  std::size_t begin = 0;
  std::vector<std::pair<std::string, std::string>> taken;
  std::string refusal;
};

Outcome Read(OptionSyntax syntax, const std::vector<std::string>& words) {
  syntax.program = "runner";
  syntax.options = kOptions;
  Outcome outcome;
  const auto begin = ReadOptions(
      syntax, words, [&](std::string_view name, const std::string& value) -> base::Result<void> {
        if (value == "bad") return base::Fail(base::ErrorCode::kInvalidArgument, "refused");
        outcome.taken.emplace_back(name, value);
        return {};
      });
  outcome.begin = begin.value_or(0);
  if (!begin) outcome.refusal = begin.error().message;
  return outcome;
}

TEST(OptionReaderTest, OptionsEndAtTheProgram) {
  const Outcome outcome = Read({}, {"--count=8", "-q", "--color", "red", "train", "--count", "3"});

  EXPECT_EQ(outcome.begin, 4u);
  EXPECT_THAT(outcome.taken,
              ElementsAre(Pair("--count", "8"), Pair("--quiet", ""), Pair("--color", "red")));
  EXPECT_EQ(Read({}, {"-q", "--", "-x"}).begin, 2u);
}

TEST(OptionReaderTest, ShortOnesMayHoldTheirValue) {
  EXPECT_THAT(Read({}, {"-n8", "-n", "9", "a"}).taken,
              ElementsAre(Pair("--count", "8"), Pair("--count", "9")));
}

TEST(OptionReaderTest, SomeHaveSeveralValues) {
  EXPECT_EQ(Read({}, {"--pair", "a", "b", "program"}).begin, 3u);
  EXPECT_THAT(Read({}, {"--pair", "a"}).refusal, HasSubstr("--pair has no value"));
}

TEST(OptionReaderTest, SyntaxesDiffer) {
  EXPECT_THAT(Read({.abbreviates = true}, {"--qu", "a"}).taken, ElementsAre(Pair("--quiet", "")));
  EXPECT_THAT(Read({.abbreviates = true}, {"--co", "1", "a"}).refusal,
              HasSubstr("runner has no option '--co'"));
  EXPECT_THAT(Read({}, {"--qu", "a"}).refusal, HasSubstr("no option '--qu'"));
  EXPECT_THAT(Read({.one_dash = true}, {"-quiet", "a"}).taken, ElementsAre(Pair("--quiet", "")));
  EXPECT_EQ(Read({.others_have_value = true}, {"--new", "1", "a"}).begin, 2u);
}

TEST(OptionReaderTest, WhoTakesThemMayRefuse) {
  EXPECT_EQ(Read({}, {"--color", "bad", "a"}).refusal, "refused");
}

}  // namespace
}  // namespace eidolon::agent::launch
