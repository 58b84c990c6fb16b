#include "services/controller/search/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace eidolon::controller::search {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A judged row with a band of 5 %.
json JudgedRow(const std::string& name, double seconds, double headroom,
               const std::string& verdict = "slower") {
  return {{"name", name},
          {"verdict", verdict},
          {"iterationSeconds", seconds},
          {"iterationSecondsLow", seconds * 0.95},
          {"iterationSecondsHigh", seconds * 1.05},
          {"memoryHeadroom", headroom}};
}

class FrontTest : public ::testing::Test {
 protected:
  FrontTest() { spec_.goals = {{false, "iterationSeconds"}, {true, "memoryHeadroom"}}; }
  std::vector<std::string> Front() {
    MarkFront(spec_, &rows_);
    return FrontOf(rows_);
  }

  SearchSpec spec_;
  std::vector<json> rows_;
};

TEST_F(FrontTest, HasThePointsForWhichNoOtherIsBetter) {
  rows_ = {JudgedRow("fast", 1, 0.1, "best"), JudgedRow("middle", 2, 0.3),
           JudgedRow("small", 4, 0.5), JudgedRow("both", 3, 0.2)};

  EXPECT_THAT(Front(), ElementsAre("fast", "middle", "small"));
  EXPECT_EQ(rows_[3]["dominatedBy"], "middle");
  EXPECT_FALSE(rows_[0].contains("dominatedBy"));
}

TEST_F(FrontTest, WhatCannotBeToldApartStays) {
  rows_ = {JudgedRow("fast", 1, 0.1, "best"), JudgedRow("alike", 1.05, 0.1, "cannot be told apart"),
           JudgedRow("slow", 1.2, 0.1)};

  EXPECT_THAT(Front(), ElementsAre("fast", "alike"));
}

TEST_F(FrontTest, AFieldWithoutABandDecidesByItsValue) {
  rows_ = {JudgedRow("fast", 1, 0.1, "best"), JudgedRow("fuller", 1, 0.09)};

  EXPECT_THAT(Front(), ElementsAre("fast"));
}

TEST_F(FrontTest, PointsThatCannotBeChosenAreNotOnIt) {
  rows_ = {JudgedRow("fast", 1, 0.1, "best"), JudgedRow("out", 0.1, 0.9, "excluded"),
           JudgedRow("none", 0, 0.9, "does not fit"), JudgedRow("odd", 5, 0.9)};
  rows_[3].erase("memoryHeadroom");

  EXPECT_THAT(Front(), ElementsAre("fast"));
}

TEST_F(FrontTest, WithoutObjectivesThereIsNone) {
  spec_.goals = {};
  rows_ = {JudgedRow("fast", 1, 0.1, "best")};

  EXPECT_THAT(Front(), IsEmpty());
  EXPECT_FALSE(rows_[0].contains("front"));
}

}  // namespace
}  // namespace eidolon::controller::search
