#include "services/controller/kube_host/run_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace eidolon::controller::kube_host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<KubeRun> RunOf(const char* uid, const char* name = "train") {
  auto run = std::make_shared<KubeRun>();
  run->uid = uid;
  run->key = {"team", name};
  return run;
}

TEST(RunRegistryTest, ARunIsFoundByItsJobAndByItsHandle) {
  RunRegistry runs;
  runs.Add(RunOf("a"));
  runs.Add(RunOf("b"));

  const RunRegistry::View view(runs);
  const auto a = view.Find("a");
  const auto b = view.Find("b");
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a->handle, b->handle);
  EXPECT_EQ(view.Find(agents::AgentName{b->handle, 0}), b);
  EXPECT_EQ(view.Find("c"), nullptr);
  EXPECT_EQ(view.Find(agents::AgentName{99, 0}), nullptr);
}

TEST(RunRegistryTest, ARunThatWasTakenIsDroppedAndFoundNoMore) {
  RunRegistry runs;
  runs.Add(RunOf("a"));
  const auto taken = runs.Take("a");

  ASSERT_NE(taken, nullptr);
  EXPECT_TRUE(taken->dropped);
  EXPECT_EQ(runs.Take("a"), nullptr);
  EXPECT_THAT(runs.Uids(), IsEmpty());
  const RunRegistry::View view(runs);
  EXPECT_EQ(view.Find(agents::AgentName{taken->handle, 0}), nullptr);
}

TEST(RunRegistryTest, HandlesAreNeverUsedAgain) {
  RunRegistry runs;
  runs.Add(RunOf("a"));
  const auto first = runs.Take("a");
  runs.Add(RunOf("a"));
  const auto second = runs.Take("a");

  EXPECT_NE(first->handle, second->handle);
}

TEST(RunRegistryTest, RunsOfAJobThatWasReplacedAreNamed) {
  RunRegistry runs;
  runs.Add(RunOf("old"));
  runs.Add(RunOf("other", "eval"));

  EXPECT_THAT(runs.UidsBut({"team", "train"}, "new"), ElementsAre("old"));
  EXPECT_THAT(runs.UidsBut({"team", "train"}, "old"), IsEmpty());
  EXPECT_THAT(runs.Uids(), ElementsAre("old", "other"));
}

TEST(RunRegistryTest, TakingARunWakesWhoWaitsForIt) {
  RunRegistry runs;
  runs.Add(RunOf("a"));
  std::jthread taker;
  RunRegistry::View view(runs);
  const auto run = view.Find("a");
  taker = std::jthread([&] { runs.Take("a"); });
  while (!run->dropped) view.Await(std::chrono::seconds(20));

  EXPECT_EQ(view.Find("a"), nullptr);
}

TEST(RunRegistryTest, ItClosesOnce) {
  RunRegistry runs;
  EXPECT_FALSE(RunRegistry::View(runs).is_closed());
  EXPECT_TRUE(runs.Close());
  EXPECT_TRUE(RunRegistry::View(runs).is_closed());
  EXPECT_FALSE(runs.Close());
}

}  // namespace
}  // namespace eidolon::controller::kube_host
