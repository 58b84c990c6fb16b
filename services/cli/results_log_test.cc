#include "services/cli/results_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "services/testing/temporary_directory.h"

namespace eidolon::cli {
namespace {

using ::testing::HasSubstr;

class ResultsLogTest : public ::testing::Test {
 protected:
  testing::TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/results.jsonl";
};

TEST_F(ResultsLogTest, WhatWasAddedIsThereForTheNextProcess) {
  ASSERT_TRUE(ResultsLog(path_).Add({{"name", "tp=1"}, {"seconds", 2}}));
  ASSERT_TRUE(ResultsLog(path_).Add({{"name", "tp=2"}, {"seconds", 3}}));

  const ResultsLog log(path_);
  EXPECT_TRUE(log.Has("tp=1"));
  EXPECT_EQ(log.at("tp=2")["seconds"], 3);
  EXPECT_FALSE(log.Has("tp=4"));
}

TEST_F(ResultsLogTest, ALineThatWasCutOffCountsForNothingAndDamagesNoOther) {
  ASSERT_TRUE(ResultsLog(path_).Add({{"name", "tp=1"}}));
  std::ofstream(path_, std::ios::app) << R"({"name": "tp=2", "sec)";
  ASSERT_TRUE(ResultsLog(path_).Add({{"name", "tp=4"}}));

  const ResultsLog log(path_);
  EXPECT_TRUE(log.Has("tp=1"));
  EXPECT_FALSE(log.Has("tp=2"));
  EXPECT_TRUE(log.Has("tp=4"));
}

TEST_F(ResultsLogTest, AFileThatCannotBeWrittenIsNamed) {
  const auto added = ResultsLog(directory_.path() + "/none/results.jsonl").Add({{"name", "a"}});
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("/none/results.jsonl"));
}

}  // namespace
}  // namespace eidolon::cli
