#include "services/controller/reconcile/attempt.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::reconcile {
namespace {

TEST(AttemptTest, PausesDoubleUpToFiveMinutes) {
  EXPECT_EQ(PauseSeconds(0), 0);
  EXPECT_EQ(PauseSeconds(1), 0);
  EXPECT_EQ(PauseSeconds(2), 10);
  EXPECT_EQ(PauseSeconds(3), 20);
  EXPECT_EQ(PauseSeconds(6), 160);
  EXPECT_EQ(PauseSeconds(7), 300);
  EXPECT_EQ(PauseSeconds(100), 300);
}

TEST(AttemptTest, EveryPredictionHasATextForTables) {
  EXPECT_EQ(PredictedText({{"iterationSeconds", {{"mean", 0.0123456}}}}), "12.35 ms");
  EXPECT_EQ(PredictedText({{"iterationSeconds", {{"mean", 0.0123456}}},
                           {"steadyIteration", {{"seconds", 0.0111}}}}),
            "11.10 ms");
  EXPECT_EQ(PredictedText({{"program", {{"seconds", 12.3}}}}), "12.30 s in all");
  EXPECT_EQ(PredictedText(nlohmann::json::object()), "-");
}

TEST(AttemptTest, WhatTheProgramDidItselfDoesNotComeFromALostPod) {
  for (const char* reason : {"AgentLost", "RankLost", "CommandFailed", "Stuck"}) {
    EXPECT_TRUE(MayBeConsequence({job::Phase::kFailed, reason, ""})) << reason;
  }
  for (const char* reason : {"OutOfMemory", "UnsupportedCall", "CollectiveMismatch", "NoIterations",
                             "DeadlineExceeded"}) {
    EXPECT_FALSE(MayBeConsequence({job::Phase::kFailed, reason, ""})) << reason;
  }
}

}  // namespace
}  // namespace eidolon::controller::reconcile
