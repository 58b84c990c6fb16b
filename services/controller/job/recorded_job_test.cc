#include "services/controller/job/recorded_job.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::job {
namespace {

using nlohmann::json;

TEST(RecordedJobTest, KeepsOfTheEnvironmentWhatNcclReads) {
  const json document = {
      {"spec",
       {{"cluster", {{"servers", 1}}},
        {"env",
         {{{"name", "TOKEN"}, {"value", "secret"}}, {{"name", "NCCL_ALGO"}, {"value", "Ring"}}}}}}};

  const json recorded = RecordedJob(document, {});

  EXPECT_EQ(recorded["spec"]["env"], json::array({{{"name", "NCCL_ALGO"}, {"value", "Ring"}}}));
  EXPECT_EQ(recorded["spec"]["cluster"], document["spec"]["cluster"]);
  EXPECT_EQ(recorded["spec"]["variation"], "published");
}

TEST(RecordedJobTest, HasTheClusterInThePlaceOfItsName) {
  const json document = {{"spec", {{"clusterRef", {{"name", "pod"}}}}}};

  const json recorded = RecordedJob(document, {{"servers", 4}});

  EXPECT_EQ(recorded["spec"]["cluster"], json({{"servers", 4}}));
  EXPECT_FALSE(recorded["spec"].contains("clusterRef"));
}

}  // namespace
}  // namespace eidolon::controller::job
