#include "services/cli/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::cli {
namespace {

using nlohmann::json;
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

}  // namespace
}  // namespace eidolon::cli
