#include "services/controller/reconcile/memory_kill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::reconcile {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json PodThatEnded(json terminated, json resources) {
  return {{"spec", {{"containers", {{{"name", "server"}, {"resources", std::move(resources)}}}}}},
          {"status",
           {{"containerStatuses",
             {{{"name", "server"}, {"state", {{"terminated", std::move(terminated)}}}}}}}}};
}

TEST(MemoryKillTest, NamesTheLimitThatWasReachedAndWhatSetsIt) {
  for (const json& memory : {json("16Gi"), json(17179869184)}) {
    const std::string text = DescribeMemoryKill(PodThatEnded(
        {{"reason", "OOMKilled"}, {"exitCode", 137}}, {{"limits", {{"memory", memory}}}}));

    EXPECT_THAT(text, HasSubstr(memory.is_string() ? "16Gi" : "17179869184"));
    EXPECT_THAT(text, HasSubstr("raise limits.memoryPerServer"));
  }
}

TEST(MemoryKillTest, TellsAMachineWithoutMemoryFromALimit) {
  const json requests = {{"requests", {{"memory", "1Gi"}}}};

  EXPECT_THAT(DescribeMemoryKill(PodThatEnded({{"reason", "OOMKilled"}, {"signal", 9}}, requests)),
              HasSubstr("its node had no memory left"));
}

TEST(MemoryKillTest, AnAgentThatEndedByItselfHasOutlivedTheKillOfAProcess) {
  const json limits = {{"limits", {{"memory", "16Gi"}}}};

  EXPECT_EQ(DescribeMemoryKill(PodThatEnded({{"reason", "OOMKilled"}, {"exitCode", 0}}, limits)),
            "");
  EXPECT_EQ(DescribeMemoryKill(PodThatEnded({{"reason", "Error"}, {"exitCode", 137}}, limits)), "");
  EXPECT_EQ(DescribeMemoryKill(json::object()), "");
}

}  // namespace
}  // namespace eidolon::controller::reconcile
