// Objects that etcd or the API server cannot hold are told, not tried for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/controller/kube_host/controller_fixture_test.h"

namespace eidolon::controller::kube_host {
namespace {

class TooLargeTest : public KubeControllerTest {
 protected:
  // Lets objects be larger by so much than this one is, which is made larger than any other.
  void LeaveRoom(const kube::Resource& resource, const kube::ObjectKey& key, std::size_t bytes) {
    cluster_.Put(resource, key,
                 {{"metadata", {{"annotations", {{"filler", std::string(20'000, 'x')}}}}}});
    cluster_.LimitObjects(cluster_.Find(resource, key)->dump().size() + bytes);
  }
  std::size_t EventCount(const std::string& reason) {
    std::size_t count = 0;
    for (const json& event : cluster_.List(kube::kEvents)) count += event["reason"] == reason;
    return count;
  }
  bool HasEvent(const std::string& reason) { return EventCount(reason) > 0; }
};

TEST_F(TooLargeTest, AJobWhoseStatusDoesNotFitBesideItsSpecFails) {
  PutCluster();
  PutJob();
  LeaveRoom(kube::kSimulationJobs, kJob, 500);
  Process process(cluster_);
  ASSERT_TRUE(StartNetwork());

  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);

  EXPECT_EQ(ReasonOf("Failed"), "TooLarge");
  EXPECT_THAT(Status().dump(), HasSubstr("shorten the spec"));
  EXPECT_TRUE(HasEvent("TooLarge"));
}

TEST_F(TooLargeTest, WhereNoStatusFitsAnEventSaysSoOnce) {
  PutCluster();
  PutJob();
  LeaveRoom(kube::kSimulationJobs, kJob, 20);
  Process process(cluster_);

  ASSERT_TRUE(Eventually([&] { return HasEvent("TooLarge"); }));
  std::this_thread::sleep_for(std::chrono::seconds(1));

  EXPECT_EQ(EventCount("TooLarge"), 1u);
  EXPECT_TRUE(Status().is_null());
}

TEST_F(TooLargeTest, APodTemplateThatMakesTheBatchJobTooLargeFailsTheJob) {
  for (const auto& [status, message] :
       {std::pair<int, std::string>(413, "Request entity too large: limit is 3145728"),
        std::pair<int, std::string>(500, "etcdserver: request is too large")}) {
    cluster_.RefuseApply("Job", message, status);
    Process process(cluster_);
    PutCluster();
    PutJob();
    ASSERT_TRUE(StartNetwork());

    ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);

    EXPECT_EQ(ReasonOf("Failed"), "TooLarge");
    EXPECT_THAT(Status().dump(), HasSubstr(message));
    EXPECT_THAT(Status().dump(), HasSubstr("shorten spec.podTemplate"));
    cluster_.Remove(kube::kSimulationJobs, kJob);
    cluster_.Remove(kube::kServices, kJob);  // As the garbage collector would.
  }
}

TEST_F(TooLargeTest, AClusterThatDoesNotFitIsNotAccepted) {
  cluster_.Put(kube::kSimulatedClusters, {"team", "pod"},
               {{"spec",
                 {{"servers", 4},
                  {"server", {{"preset", "dgx-h100"}}},
                  {"fabric", {{"switches", json::array({std::string(400'000, 's')})}}}}}});
  Process process(cluster_);

  const auto message = [&] {
    const auto cluster = cluster_.Find(kube::kSimulatedClusters, {"team", "pod"});
    return cluster->value("status", json::object()).value("conditions", json::array()).dump();
  };
  EXPECT_TRUE(Eventually([&] { return message().find("at most 393216") != std::string::npos; }))
      << message();
}

TEST_F(TooLargeTest, AClusterWhoseStatusDoesNotFitSaysSoOnce) {
  PutCluster();
  LeaveRoom(kube::kSimulatedClusters, {"team", "pod"}, 450);
  Process process(cluster_);

  ASSERT_TRUE(Eventually([&] { return HasEvent("TooLarge"); }));
  std::this_thread::sleep_for(std::chrono::seconds(2));

  EXPECT_EQ(EventCount("TooLarge"), 1u);
  const json status = (*cluster_.Find(kube::kSimulatedClusters, {"team", "pod"}))["status"];
  EXPECT_EQ(status["conditions"][0]["reason"], "TooLarge");
  EXPECT_EQ(status["conditions"][0]["status"], "False");
}

// Half a character would be no JSON, and the exception would end the controller.
TEST_F(TooLargeTest, ANoteIsCutBetweenCharacters) {
  Process process(cluster_);
  StatusWriter writer(process.clock, process.client, process.metrics, "test");
  PutJob();
  std::string message = "x";
  while (message.size() < 2000) message += "\xC3\xA4";

  writer.RecordEvent(*cluster_.Find(kube::kSimulationJobs, kJob),
                     {.reason = "Long", .message = message, .warning = true});

  ASSERT_TRUE(HasEvent("Long"));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
