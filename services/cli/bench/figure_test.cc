#include "services/cli/bench/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::cli::bench {
namespace {

using ::testing::HasSubstr;

Figure Launch(base::Result<double> value) {
  return {"shim.launch", "launch", "ns", Goal{150, Better::kLower}, value, "52 plain calls"};
}
Figure Records(base::Result<double> value) {
  return {"agent.records", "records", "/s", Goal{2e6, Better::kHigher}, value, ""};
}
Figure Engine() { return {"agent.engine", "engine", "ns", {}, 27.0, ""}; }
std::unexpected<base::Error> NoTorch() {
  return base::Fail(base::ErrorCode::kNotFound, "No module named 'torch'");
}

TEST(FigureTest, GoalsAreInclusiveAndPointEitherWay) {
  EXPECT_EQ(Judge(Launch(150.0)), Verdict::kMet);
  EXPECT_EQ(Judge(Launch(150.1)), Verdict::kMissed);
  EXPECT_EQ(Judge(Records(2e6)), Verdict::kMet);
  EXPECT_EQ(Judge(Records(1.9e6)), Verdict::kMissed);
  EXPECT_EQ(Judge(Engine()), Verdict::kNoGoal);
  EXPECT_EQ(Judge(Launch(NoTorch())), Verdict::kNotMeasured);
}

TEST(FigureTest, AGoalThatWasNotMeasuredIsNotMet) {
  EXPECT_TRUE(MeetsAllGoals({Launch(80.0), Engine()}));
  EXPECT_FALSE(MeetsAllGoals({Launch(80.0), Records(1e6)}));
  EXPECT_FALSE(MeetsAllGoals({Launch(80.0), Records(NoTorch())}));
}

TEST(FigureTest, TheTableShowsValueGoalVerdictAndReason) {
  EXPECT_EQ(FormatFigures({Launch(83.42), Records(NoTorch()), Engine()}),
            "figure   value     goal       verdict       note\n"
            "launch   83.42 ns  <= 150 ns  met           52 plain calls\n"
            "records  -         >= 2 M/s   not measured  No module named 'torch'\n"
            "engine   27 ns\n");
}

TEST(FigureTest, TheDocumentHasNumbersAndReasons) {
  const auto document = FiguresToJson({Launch(200.0), Records(NoTorch()), Engine()});
  EXPECT_EQ(document["meetsAllGoals"], false);
  const auto& figures = document["figures"];
  EXPECT_EQ(figures[0]["value"], 200.0);
  EXPECT_EQ(figures[0]["goal"]["atMost"], 150.0);
  EXPECT_EQ(figures[0]["met"], false);
  EXPECT_THAT(figures[1]["notMeasured"].get<std::string>(), HasSubstr("torch"));
  EXPECT_EQ(figures[1]["goal"]["atLeast"], 2e6);
  EXPECT_FALSE(figures[2].contains("goal"));
  EXPECT_FALSE(figures[2].contains("met"));
}

TEST(FigureTest, ValuesHaveFourDigits) {
  EXPECT_EQ(FormatValue(0.307), "0.307");
  EXPECT_EQ(FormatValue(9999), "9999");
  EXPECT_EQ(FormatValue(261266), "261.3 k");
  EXPECT_EQ(FormatValue(11216400), "11.22 M");
}

}  // namespace
}  // namespace eidolon::cli::bench
