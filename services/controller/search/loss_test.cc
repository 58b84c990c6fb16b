#include "services/controller/search/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace eidolon::controller::search {
namespace {

using nlohmann::json;

// A row with a band of 5 % and so much of the GPU's memory left.
json RowWith(const std::string& name, double seconds, double headroom) {
  return {{"name", name},
          {"iterationSeconds", seconds},
          {"iterationSecondsLow", seconds * 0.95},
          {"iterationSecondsHigh", seconds * 1.05},
          {"iterationsPerSecond", 1 / seconds},
          {"memoryHeadroom", headroom}};
}

class LossTest : public ::testing::Test {
 protected:
  LossTest() {
    spec_.objective = {.maximize = false, .field = "iterationSeconds", .subject_to = {}};
  }
  // The name of the point that the row loses to.
  std::string WinnerOver(const json& row) const {
    std::vector<const json*> others;
    for (const json& other : others_) others.push_back(&other);
    const auto loss = LossOf(spec_, row, others);
    return loss ? loss->to : "";
  }

  SearchSpec spec_;
  std::vector<json> others_;
};

TEST_F(LossTest, APointLosesWhenItsBestCaseIsWorseThanAnothersWorstCase) {
  others_ = {RowWith("fast", 1, 0.1)};

  EXPECT_EQ(WinnerOver(RowWith("slow", 1.2, 0.1)), "fast");
  EXPECT_EQ(WinnerOver(RowWith("near", 1.1, 0.1)), "");  // 1.045 at best, 1.05 at worst.
  EXPECT_EQ(WinnerOver(RowWith("faster", 0.5, 0.1)), "");
}

TEST_F(LossTest, TheSentenceSaysToWhichPointAndByWhat) {
  others_ = {RowWith("fast", 1, 0.1), RowWith("fastest", 0.5, 0.1), RowWith("slow", 2, 0.1)};
  std::vector<const json*> others;
  for (const json& other : others_) others.push_back(&other);

  const auto loss = LossOf(spec_, RowWith("slower", 4, 0.1), others);

  ASSERT_TRUE(loss);
  EXPECT_EQ(Describe(*loss, spec_.objective),
            "at best 3.8 iterationSeconds, where fastest has 0.525 at worst");
}

TEST_F(LossTest, AFieldThatGrowsWithTheRateTakesTheOtherEndOfTheBand) {
  spec_.objective = {.maximize = true, .field = "iterationsPerSecond", .subject_to = {}};
  others_ = {RowWith("fast", 1, 0.1)};

  EXPECT_EQ(WinnerOver(RowWith("slow", 1.2, 0.1)), "fast");
  EXPECT_EQ(WinnerOver(RowWith("near", 1.1, 0.1)), "");
}

TEST_F(LossTest, WithSeveralObjectivesAPointLosesOnlyIfItIsBetterInNone) {
  spec_.goals = {{false, "iterationSeconds"}, {true, "memoryHeadroom"}};
  others_ = {RowWith("fast", 1, 0.1)};

  EXPECT_EQ(WinnerOver(RowWith("small", 2, 0.5)), "");
  EXPECT_EQ(WinnerOver(RowWith("large", 2, 0.1)), "fast");
  EXPECT_EQ(WinnerOver(RowWith("larger", 1.1, 0.05)), "");  // Its time may be the better one.
}

TEST_F(LossTest, APointDoesNotLoseByWhatItsRunningJobDoesNotSay) {
  spec_.goals = {{false, "iterationSeconds"}, {true, "memoryHeadroom"}};
  others_ = {RowWith("fast", 1, 0.1)};
  json running = RowWith("slow", 2, 0.1);
  running.erase("memoryHeadroom");

  EXPECT_EQ(WinnerOver(running), "");
}

TEST_F(LossTest, ARowSaysAfterHowManyIterationsItsJobWasEnded) {
  json row = RowWith("slow", 2, 0.1);
  EXPECT_EQ(PartialOf(row), 0u);

  MarkPartial(3, &row);

  EXPECT_EQ(PartialOf(row), 3u);
}

}  // namespace
}  // namespace eidolon::controller::search
