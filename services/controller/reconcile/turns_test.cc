#include "services/controller/reconcile/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::controller::reconcile {
namespace {

std::vector<std::string> Granted(const std::map<std::string, Turn>& turns) {
  std::vector<std::string> keys;
  for (const auto& [key, turn] : turns) {
    if (turn.granted) keys.push_back(key);
  }
  return keys;
}

TEST(TurnsTest, OldestJobsComeFirst) {
  const auto turns = ComputeTurns({{"c", "n", "3"}, {"a", "n", "1"}, {"b", "n", "2"}}, 2);

  EXPECT_THAT(Granted(turns), ::testing::ElementsAre("a", "b"));
}

TEST(TurnsTest, ANamespaceWithFewJobsIsNotHeldUpByOneWithMany) {
  std::vector<QueuedJob> jobs;
  for (char c = 'a'; c < 'k'; ++c) jobs.push_back({std::string("many-") + c, "many", "1"});
  jobs.push_back({"few-1", "few", "2"});
  jobs.push_back({"other-1", "other", "3"});

  const auto turns = ComputeTurns(jobs, 3);

  EXPECT_THAT(Granted(turns), ::testing::ElementsAre("few-1", "many-a", "other-1"));
}

TEST(TurnsTest, ActiveJobsKeepTheirTurnAndFillTheLimit) {
  const auto turns = ComputeTurns({{"old", "n", "1"}, {"active", "n", "9", true}}, 1);

  EXPECT_THAT(Granted(turns), ::testing::ElementsAre("active"));
  EXPECT_EQ(turns.at("old").running, 1u);
}

TEST(TurnsTest, SaysHowManyJobsComeBefore) {
  const auto turns = ComputeTurns({{"a", "n", "1"}, {"b", "n", "2"}, {"c", "n", "3"}}, 1);

  EXPECT_EQ(turns.at("b").before, 0u);
  EXPECT_EQ(turns.at("c").before, 1u);
}

}  // namespace
}  // namespace eidolon::controller::reconcile
