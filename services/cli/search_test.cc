#include "services/cli/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace eidolon::cli {
namespace {

using controller::search::Findings;
using controller::search::Grid;
using controller::search::SearchSpec;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kGibibyteTested = 1u << 30;

class SearchTextTest : public ::testing::Test {
 protected:
  SearchTextTest() {
    spec_.job = {{"command", {"torchrun", "train.py", "${tp}"}}};
    grid_.combinations = 5;
    grid_.cuts = {{.constraint = "world % tp == 0", .points = 2}};
    grid_.points = {{.values = {{"tp", 4}},
                     .name = "tp=4",
                     .job = {{"command", {"torchrun", "train.py", "4"}}},
                     .problems = {}}};
    findings_.rows = {{{"name", "tp=4"},
                       {"point", {{"tp", 4}}},
                       {"verdict", "best"},
                       {"iterationSeconds", 2},
                       {"tokensPerSecond", 500000},
                       {"memoryCapacityBytes", 80 * kGibibyteTested},
                       {"peakMemoryBytes", 61.25 * kGibibyteTested}},
                      {{"name", "tp=1"},
                       {"point", {{"tp", 1}}},
                       {"verdict", "does not fit"},
                       {"why", "needs 84.0 GiB or more of 80.0 GiB"},
                       {"memoryCapacityBytes", 80 * kGibibyteTested},
                       {"neededMemoryBytes", 84 * kGibibyteTested}}};
  }

  SearchSpec spec_;
  Grid grid_;
  Findings findings_ = {.spec = spec_, .grid = grid_, .rows = {}, .not_tried = {"tp=8"}};
};

TEST_F(SearchTextTest, TheTableSaysTimeMemoryAndVerdictAndEndsWithTheBestCommand) {
  const std::string text = SearchTable(findings_);

  EXPECT_THAT(text, HasSubstr("2.000 s         500 000 tokens    61.2 of 80.0 GiB  best"));
  EXPECT_THAT(text, HasSubstr("-                      -    84.0 of 80.0 GiB  does not fit"));
  EXPECT_THAT(text, HasSubstr("tp=1  (needs 84.0 GiB or more of 80.0 GiB)\n"));
  EXPECT_THAT(text,
              HasSubstr("5 combinations: 2 cut (2 by 'world % tp == 0'), 2 tried, 1 not tried"));
  EXPECT_THAT(text, HasSubstr("1 point was not tried, because the budget is spent: tp=8.\n"));
  EXPECT_TRUE(text.ends_with("Its command: torchrun train.py 4\n")) << text;
}

TEST_F(SearchTextTest, NoPointForgesALineOfTheTable) {
  const std::string evil = "tp=1\n  1.000 s  best\x1b[2J";
  findings_.rows[1]["name"] = evil;
  findings_.rows[1]["why"] = evil;
  findings_.not_tried = {evil};
  const std::string text = SearchTable(findings_);

  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
  EXPECT_THAT(text, AllOf(HasSubstr("tp=1\\x0a  1.000 s"), Not(HasSubstr("\x1b"))));
}

TEST_F(SearchTextTest, ThePointsValuesLeadTheFileOfValues) {
  const std::string text = SearchCsv(findings_.rows);

  EXPECT_THAT(text,
              HasSubstr("\"tp\",verdict,why,lostTo,front,told,phase,reason,iterationSeconds,"));
  EXPECT_THAT(text, HasSubstr("\n\"4\",\"best\",\"\",\"\",0,0,\"\",\"\",2,"));
  EXPECT_THAT(text, HasSubstr("\n\"1\",\"does not fit\",\"needs 84.0 GiB or more"));
}

TEST(CommandLineTest, WordsAreQuotedAndVariablesThatWereFilledInComeFirst) {
  const json written = {
      {"command", {"sh", "-c", "${x}"}},
      {"env", {{{"name", "KEPT"}, {"value", "1"}}, {{"name", "TP"}, {"value", "${x}"}}}}};
  json filled = written;
  filled["command"][2] = "echo it's";
  filled["env"][1]["value"] = "a b";

  EXPECT_EQ(CommandLineOf(filled, written), "TP='a b' sh -c 'echo it'\\''s'");
}

}  // namespace
}  // namespace eidolon::cli
