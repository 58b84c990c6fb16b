#include "services/cli/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace eidolon::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SweepTextTest, ShowsPointsWithAndWithoutAPrediction) {
  const std::vector<json> rows = {
      {{"name", "a=1"},
       {"phase", "Complete"},
       {"iterationSeconds", 2},
       {"iterationsPerSecond", 0.5},
       {"front", true}},
      {{"name", "a=2"}, {"phase", "Failed"}, {"reason", "OutOfMemory"}}};

  const std::string table = SweepTable(rows);

  EXPECT_THAT(table, HasSubstr("0.5"));
  EXPECT_THAT(table, HasSubstr("*    a=1"));
  EXPECT_THAT(table, HasSubstr("Failed (OutOfMemory)  a=2"));
}

TEST(SweepTextTest, ASweepIsShownWithItsPointsAndInALineOfAList) {
  const json sweep = {{"metadata", {{"name", "gpus"}}},
                      {"status",
                       {{"phase", "Running"},
                        {"counts", {{"points", 2}, {"running", 1}, {"complete", 1}}},
                        {"points",
                         {{{"name", "a=1"}, {"phase", "Running"}},
                          {{"name", "a=2"}, {"phase", "Complete"}, {"iterationSeconds", 2}}}}}}};

  const std::string text = FormatSweep(sweep);
  EXPECT_THAT(text, HasSubstr("gpus  Running  1 of 2 points, 1 running\n"));
  EXPECT_LT(text.find("a=2"), text.find("a=1"));
  EXPECT_THAT(FormatSweeps(json::array({sweep})),
              HasSubstr("gpus                      Running    1 of 2"));
  EXPECT_THAT(FormatSweep({}), HasSubstr("0 of 0 points"));
}

TEST(SweepTextTest, AMessageStaysOnItsLine) {
  const json sweep = {
      {"metadata", {{"name", "gpus"}}},
      {"status",
       {{"phase", "Failed"},
        {"conditions",
         {{{"type", "Failed"}, {"status", "True"}, {"message", "no\nother  Complete"}}}}}}};

  EXPECT_THAT(FormatSweep(sweep), HasSubstr("0 running: no\\x0aother  Complete\n"));
}

TEST(SweepTextTest, ASuspendedSweepSaysSoUntilItIsOver) {
  json sweep = {{"metadata", {{"name", "gpus"}}},
                {"spec", {{"suspend", true}}},
                {"status", {{"phase", "Pending"}}}};
  EXPECT_THAT(FormatSweep(sweep), HasSubstr("gpus  Suspended  0 of 0 points, 0 running: no point "
                                            "begins until 'eidolon resume --sweeps gpus'"));
  EXPECT_THAT(FormatSweeps(json::array({sweep})), HasSubstr("gpus                      Suspended"));
  sweep["status"]["phase"] = "Running";
  EXPECT_THAT(FormatSweep(sweep), HasSubstr("gpus  Running"));
  EXPECT_THAT(FormatSweep(sweep), HasSubstr("no point begins"));
  sweep["status"]["phase"] = "Complete";
  EXPECT_THAT(FormatSweep(sweep), Not(HasSubstr("no point begins")));
}

TEST(SweepTextTest, NoNameBreaksATableOrAPicture) {
  const std::string evil = "a\",<script>\x1b[31m";
  const std::vector<json> rows = {{{"name", "gpu=" + evil},
                                   {"point", {{"cluster.server.gpu", evil}}},
                                   {"phase", "Complete"},
                                   {"iterationSeconds", 1},
                                   {"tokensPerSecond", 500},
                                   {"headroomBytes", 70}}};

  EXPECT_THAT(SweepSvg(rows), Not(HasSubstr("<script>")));
  EXPECT_THAT(SweepCsv(rows), HasSubstr("\"a\"\",<script>"));
  EXPECT_THAT(SweepCsv(rows), HasSubstr(",500,"));
}

TEST(SweepTextTest, NoPointForgesALineOfTheTable) {
  const std::string evil = "env.A=1\n  9.000 ms  forged\r\x1b[2J";
  const std::vector<json> rows = {
      {{"name", evil}, {"phase", "Failed"}, {"reason", "No"}, {"message", evil}},
      {{"name", evil}, {"phase", "Complete"}, {"iterationSeconds", 1}}};

  const std::string table = SweepTable(rows);

  EXPECT_EQ(std::ranges::count(table, '\n'), 4);
  EXPECT_THAT(table, AllOf(HasSubstr("env.A=1\\x0a  9.000 ms"), Not(HasSubstr("\x1b"))));
}

TEST(SweepTextTest, NoCellIsAFormula) {
  for (const std::string evil : {"=1+1", "+1", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1"}) {
    const std::vector<json> rows = {{{"point", {{"env.A", evil}}}, {"phase", "Complete"}}};
    EXPECT_THAT(SweepCsv(rows), HasSubstr("\n\"'" + evil + "\",")) << evil;
  }
  const std::vector<json> plain = {{{"point", {{"a", -1}, {"b", "a=1"}}}, {"phase", "Complete"}}};
  EXPECT_THAT(SweepCsv(plain), HasSubstr("\n\"-1\",\"a=1\","));
}

}  // namespace
}  // namespace eidolon::cli
