#include "services/controller/job/critical_path.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace eidolon::controller::job {
namespace {

namespace path = critical_path;

TEST(CriticalPathJsonTest, TellsKindsRanksAndOperationsWithTheirShares) {
  const path::Summary summary{
      .iteration = 2,
      .length = {1000},
      .kinds = {{path::Kind::kKernel, {750}}, {path::Kind::kHost, {250}}},
      .ranks = {{7, {900}}, {3, {100}}},
      .operations = {{path::Kind::kKernel, std::string(300, 'k'), {700}, 12}},
      .segments = 40,
      .rank_changes = 1,
      .left_out = 5,
      .ranks_shown = 8};

  const nlohmann::json out = ToJson(summary);

  EXPECT_EQ(out["iteration"], 3) << "counted from 1, as in the report";
  EXPECT_EQ(out["picoseconds"], 1000);
  EXPECT_EQ(out["kinds"][0]["kind"], "kernels");
  EXPECT_EQ(out["kinds"][0]["picoseconds"], 750);
  EXPECT_EQ(out["kinds"][0]["share"], 0.75);
  EXPECT_EQ(out["ranks"][1]["rank"], 3);
  EXPECT_EQ(out["operations"][0]["times"], 12);
  EXPECT_EQ(out["operations"][0]["name"].get<std::string>().size(), 256u);
  EXPECT_EQ(out["operationsLeftOut"], 5);
  EXPECT_FALSE(out.contains("otherRanksPicoseconds"));
}

TEST(CriticalPathJsonTest, SumsUpTheRanksThatItDoesNotList) {
  path::Summary summary{.length = {40}};
  for (std::int32_t rank = 0; rank < 40; ++rank) summary.ranks.push_back({rank, {1}});

  const nlohmann::json out = ToJson(summary);

  EXPECT_EQ(out["ranks"].size(), 32u);
  EXPECT_EQ(out["otherRanksPicoseconds"], 8);
  EXPECT_FALSE(out.contains("iteration")) << "a whole program";
}

}  // namespace
}  // namespace eidolon::controller::job
