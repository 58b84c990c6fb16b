#include "services/cli/follow.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::cli {
namespace {

using nlohmann::json;

json JobThatIs(const char* phase, const char* reason) {
  return {{"status",
           {{"phase", phase},
            {"conditions", {{{"type", phase}, {"status", "True"}, {"reason", reason}}}}}}};
}

TEST(FollowTest, TheExitStatusSaysWhetherAllWasMeasured) {
  EXPECT_EQ(ExitStatusOf(JobThatIs("Complete", "IterationsMeasured")), 0);
  EXPECT_EQ(ExitStatusOf(JobThatIs("Complete", "NoIterations")), 0);  // The program as a whole.
  EXPECT_EQ(ExitStatusOf(JobThatIs("Complete", "CommandEnded")), 3);
  EXPECT_EQ(ExitStatusOf(JobThatIs("Failed", "OutOfMemory")), 1);
  EXPECT_EQ(ExitStatusOf(json::object()), 1);
}

TEST(FollowTest, OutputThatWasShownIsNotQuotedAgain) {
  json job = JobThatIs("Failed", "CommandFailed");
  json& message = job["status"]["conditions"][0]["message"];
  message = "server 0: exit status 1: ValueError: no; last lines of its error output:\n  Traceback";
  EXPECT_EQ(WithoutQuotedOutput(job)["status"]["conditions"][0]["message"],
            "server 0: exit status 1: ValueError: no");
  EXPECT_EQ(WithoutQuotedOutput(json::object()), json::object());
}

}  // namespace
}  // namespace eidolon::cli
