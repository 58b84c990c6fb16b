#include "services/controller/job/condition.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::job {
namespace {

TEST(ConditionTest, TransitionTimeMovesOnlyWithTheValue) {
  Conditions conditions;
  conditions.Set({"Scheduled", false, "Queued", "2 jobs before this one", "10:00"});

  conditions.Set({"Scheduled", false, "Queued", "1 job before this one", "10:01"});
  EXPECT_EQ(conditions.Find("Scheduled")->last_transition_time, "10:00");
  EXPECT_EQ(conditions.Find("Scheduled")->message, "1 job before this one");

  conditions.Set({"Scheduled", true, "Placed", "", "10:02"});
  EXPECT_EQ(conditions.Find("Scheduled")->last_transition_time, "10:02");
}

TEST(ConditionTest, PhaseFollowsTheConditions) {
  Conditions conditions;
  EXPECT_EQ(conditions.phase(), Phase::kPending);
  conditions.Set({"Scheduled", true, "Placed", "", ""});
  EXPECT_EQ(conditions.phase(), Phase::kRunning);
  conditions.Set({"Failed", true, "Deadlock", "", ""});
  EXPECT_EQ(conditions.phase(), Phase::kFailed);
  EXPECT_TRUE(IsOver(conditions.phase()));
}

TEST(ConditionTest, ReadsBackWhatItWrote) {
  Conditions conditions;
  conditions.Set({"Accepted", true, "Valid", "m", "t", 2});

  const Conditions read = Conditions::FromJson(conditions.ToJson());

  ASSERT_NE(read.Find("Accepted"), nullptr);
  EXPECT_EQ(*read.Find("Accepted"), *conditions.Find("Accepted"));
}

}  // namespace
}  // namespace eidolon::controller::job
