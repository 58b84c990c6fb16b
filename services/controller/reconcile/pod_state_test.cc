// Pods as API server and kubelet describe them.
#include "services/controller/reconcile/pod_state.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::reconcile {
namespace {

using nlohmann::json;

PodState Inspect(json status) {
  return InspectPod({{"metadata", {{"name", "train-0-x"}}}, {"status", std::move(status)}});
}

std::string DisruptionOf(const json& status) {
  const PodState state = Inspect(status);
  return state.disruption ? state.disruption->reason : "";
}

json Target(const char* reason) {
  return {{"phase", "Running"},
          {"conditions", {{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", reason}}}}};
}

json Ended(const char* reason) {
  return {{"phase", "Failed"}, {"reason", reason}, {"message", "why"}};
}

json Terminated(int code, const char* reason) {
  return {{"phase", "Failed"},
          {"containerStatuses",
           {{{"name", "server"},
             {"state", {{"terminated", {{"exitCode", code}, {"reason", reason}}}}}}}}};
}

json Pulling(const char* reason, const char* message) {
  return {{"phase", "Pending"},
          {"containerStatuses",
           {{{"name", "server"},
             {"state", {{"waiting", {{"reason", reason}, {"message", message}}}}}}}}};
}

std::uint32_t ServerOf(const char* index, json annotations) {
  return InspectPod({{"metadata",
                      {{"labels", {{"batch.kubernetes.io/job-completion-index", index}}},
                       {"annotations", std::move(annotations)}}}})
      .server;
}

TEST(PodStateTest, APodsIndexStandsForAServer) {
  EXPECT_EQ(ServerOf("2", json::object()), 2u);
  EXPECT_EQ(ServerOf("1", {{"eidolon.dev/servers", "[0,7]"}}), 7u);
}

TEST(PodStateTest, ADamagedListOfServersNamesNone) {
  for (const char* list : {"", "[", "7", "[0]", "[0,-1]", "[0,\"1\"]", "{}"}) {
    EXPECT_EQ(ServerOf("1", {{"eidolon.dev/servers", list}}), kNoServer) << list;
  }
}

TEST(PodStateTest, TellsDisruptionsFromTheProgramsEnd) {
  EXPECT_EQ(DisruptionOf(Target("EvictionByEvictionAPI")), "PodEvicted");
  EXPECT_EQ(DisruptionOf(Target("PreemptionByScheduler")), "PodPreempted");
  EXPECT_EQ(DisruptionOf(Target("DeletionByTaintManager")), "NodeLost");
  EXPECT_EQ(DisruptionOf(Target("DeletionByPodGC")), "NodeLost");
  EXPECT_EQ(DisruptionOf(Target("SomethingNew")), "PodEvicted");
  EXPECT_EQ(DisruptionOf(Ended("Evicted")), "PodEvicted");
  EXPECT_EQ(DisruptionOf(Ended("OutOfcpu")), "PodRejected");
  EXPECT_EQ(DisruptionOf(Ended("Terminated")), "NodeLost");
  EXPECT_EQ(DisruptionOf(Ended("DeadlineExceeded")), "");
  EXPECT_EQ(DisruptionOf(Terminated(1, "Error")), "");
  EXPECT_EQ(DisruptionOf(Terminated(137, "OOMKilled")), "");
  EXPECT_EQ(DisruptionOf(Terminated(137, "ContainerStatusUnknown")), "NodeLost");
  EXPECT_EQ(DisruptionOf({{"phase", "Running"}}), "");
}

TEST(PodStateTest, APodOfANodeThatDoesNotAnswerIsNotReadyThoughItsContainersAre) {
  const auto conditions = [](const char* ready, const char* containers) -> json {
    return {{"phase", "Running"},
            {"conditions",
             {{{"type", "Ready"}, {"status", ready}},
              {{"type", "ContainersReady"}, {"status", containers}}}}};
  };

  EXPECT_EQ(DisruptionOf(conditions("False", "True")), "NodeLost");
  EXPECT_EQ(DisruptionOf(conditions("True", "True")), "");
  EXPECT_EQ(DisruptionOf(conditions("False", "False")), "");
}

TEST(PodStateTest, SomePullErrorsPassAndOthersDoNot) {
  for (const char* final : {
           "failed to pull and unpack image \"r.example/t:1\": r.example/t:1: not found",
           "pull access denied, repository does not exist or may require authorization",
           "failed to do request: Head \"https://x.example/v2\": dial tcp: lookup x.example: no "
           "such host",
       }) {
    const PodState pod = Inspect(Pulling("ErrImagePull", final));
    EXPECT_EQ(HopelessReason(pod), "ImageNotFound") << final;
    EXPECT_FALSE(WaitsForImage(pod)) << final;
  }
  for (const char* passing : {
           "failed to do request: Head \"https://r.example/v2\": net/http: TLS handshake timeout",
           "unexpected status from HEAD request to https://r.example/v2: 503 Service Unavailable",
           "toomanyrequests: You have reached your pull rate limit",
           "Back-off pulling image \"r.example/t:1\"",
       }) {
    const PodState pod = Inspect(Pulling("ImagePullBackOff", passing));
    EXPECT_EQ(HopelessReason(pod), "") << passing;
    EXPECT_TRUE(WaitsForImage(pod)) << passing;
  }
  EXPECT_EQ(HopelessReason(Inspect(Pulling("InvalidImageName", "\"A b\""))), "ImageNotFound");
}

}  // namespace
}  // namespace eidolon::controller::reconcile
