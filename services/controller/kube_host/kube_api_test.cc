// REST on Kubernetes: HTTP in, custom resources out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "services/controller/kube_host/kube_api_fixture_test.h"
#include "services/controller/kube_host/pod_logs.h"
#include "services/controller/kube_host/probe.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::kube_host {
namespace {

TEST_F(KubeApiTest, CreatesListsPatchesAndDeletesCustomResources) {
  const auto created = Post(kBody);
  ASSERT_EQ(created->status, 201) << created->body;
  const auto stored = cluster_.Find(kube::kSimulationJobs, {"team", "a"});
  ASSERT_TRUE(stored);
  EXPECT_EQ((*stored)["kind"], "SimulationJob");
  EXPECT_EQ((*stored)["spec"]["image"], "train:1");

  EXPECT_EQ(json::parse(http_.Get(kJobs)->body)["items"].size(), 1u);
  const std::string one = std::string(kJobs) + "/a";
  const auto patched =
      http_.Patch(one.c_str(), R"({"spec": {"suspend": true}})", "application/merge-patch+json");
  EXPECT_EQ(patched->status, 200) << patched->body;
  EXPECT_EQ((*cluster_.Find(kube::kSimulationJobs, {"team", "a"}))["spec"]["suspend"], true);
  EXPECT_EQ(http_.Delete(one.c_str())->status, 202);
  EXPECT_EQ(http_.Get(one.c_str())->status, 404);
  EXPECT_EQ(cluster_.List(kube::kSimulationJobs).size(), 0u);
}

TEST_F(KubeApiTest, OneKeyCreatesOneJob) {
  const httplib::Headers key = {{"Idempotency-Key", "k-1"}};
  json document = json::parse(kBody);
  document["metadata"] = {{"generateName", "run-"}};
  const std::string body = document.dump();

  const auto first = Post(body, key);
  const auto second = Post(body, key);
  const auto other = Post(kBody, key);

  EXPECT_EQ(first->status, 201) << first->body;
  EXPECT_EQ(second->status, 201) << second->body;
  EXPECT_EQ(second->get_header_value("Idempotent-Replayed"), "true");
  EXPECT_EQ(json::parse(first->body)["metadata"]["name"],
            json::parse(second->body)["metadata"]["name"]);
  EXPECT_EQ(other->status, 422) << other->body;
  EXPECT_EQ(cluster_.List(kube::kSimulationJobs).size(), 1u);
}

TEST_F(KubeApiTest, NamesEveryWrongField) {
  const auto answer = Post(R"({"metadata": {"name": "a"}, "spec": {"servers": 0}})");

  EXPECT_EQ(answer->status, 422);
  EXPECT_THAT(answer->body, HasSubstr("/spec/servers"));
  EXPECT_THAT(answer->body, ::testing::Not(HasSubstr("has 0 problem")));
  EXPECT_EQ(cluster_.List(kube::kSimulationJobs).size(), 0u);
}

TEST_F(KubeApiTest, SweepsAreCustomResourcesForWhoMayHaveThem) {
  const char* path = "/api/v1/namespaces/team/simulationsweeps";
  json sweep = {{"apiVersion", "eidolon.dev/v1alpha1"},
                {"kind", "SimulationSweep"},
                {"metadata", {{"name", "s"}}},
                {"spec", {{"job", json::parse(kBody)["spec"]}, {"matrix", {{"servers", {1, 2}}}}}}};
  const auto post = [&] { return http_.Post(path, sweep.dump(), "application/json"); };
  const char* elsewhere = "/api/v1/namespaces/other/simulationsweeps";
  EXPECT_EQ(http_.Post(elsewhere, sweep.dump(), "application/json")->status, 403);
  for (const char* verb : {"get", "list", "watch", "create", "patch", "delete"}) {
    cluster_.Allow(std::string("ann ") + verb + " simulationsweeps team");
  }

  const auto created = post();

  EXPECT_EQ(created->status, 201) << created->body;
  EXPECT_EQ((*cluster_.Find(kube::kSimulationSweeps, {"team", "s"}))["spec"]["matrix"],
            sweep["spec"]["matrix"]);
  EXPECT_EQ(post()->status, 409);
  EXPECT_EQ(json::parse(http_.Get(path)->body)["items"].size(), 1u);
  sweep["spec"]["matrix"] = {{"replay.hostFactor", {1}}};
  EXPECT_THAT(post()->body, HasSubstr("/spec/matrix/replay.hostFactor"));
  const std::string one = std::string(path) + "/s";
  const auto patch = [&](const char* body) {
    return http_.Patch(one, body, "application/merge-patch+json");
  };
  EXPECT_EQ(patch(R"({"spec": {"suspend": true, "concurrency": 3}})")->status, 200);
  EXPECT_EQ((*cluster_.Find(kube::kSimulationSweeps, {"team", "s"}))["spec"]["concurrency"], 3);
  const auto fixed = patch(R"({"spec": {"matrix": {"servers": [3]}}})");
  EXPECT_EQ(fixed->status, 422);
  EXPECT_THAT(fixed->body, HasSubstr("\"pointer\":\"/spec/matrix\""));
  cluster_.Put(kube::kSimulationSweeps, {"team", "s"}, {{"status", {{"phase", "Complete"}}}});
  EXPECT_THAT(http_.Get(one + "/events")->body, HasSubstr("event: end"));
  const auto late = patch(R"({"spec": {"suspend": false}})");
  EXPECT_EQ(late->status, 409);
  EXPECT_THAT(late->body, HasSubstr("the sweep is over"));
  EXPECT_EQ(http_.Delete(one)->status, 200);
  EXPECT_EQ(cluster_.List(kube::kSimulationSweeps).size(), 0u);
}

TEST_F(KubeApiTest, NobodyPassesWithoutATokenForUs) {
  httplib::Client stranger("http://" + server_->address());
  stranger.set_read_timeout(60);  // A sanitizer on a busy machine needs longer than the usual 5 s.
  const auto none = stranger.Get(kJobs);
  ASSERT_TRUE(none) << httplib::to_string(none.error());
  EXPECT_EQ(none->status, 401);
  EXPECT_EQ(none->get_header_value("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(none->get_header_value("Content-Type"), "application/problem+json");

  cluster_.AddToken("api", "https://kubernetes.default.svc", "ann");
  stranger.set_bearer_token_auth("api");
  EXPECT_EQ(stranger.Get(kJobs)->status, 401);
  EXPECT_EQ(stranger.Get("/livez")->status, 200);
}

TEST_F(KubeApiTest, WhatIsNotYoursIsForbiddenWhetherItExistsOrNot) {
  cluster_.Put(kube::kSimulationJobs, {"other", "secret"}, {{"spec", json::object()}});
  const auto there = http_.Get("/api/v1/namespaces/other/simulationjobs/secret");
  const auto absent = http_.Get("/api/v1/namespaces/other/simulationjobs/nothing");
  EXPECT_EQ(there->status, 403);
  EXPECT_EQ(absent->status, 403);
  EXPECT_EQ(json::parse(there->body)["detail"], json::parse(absent->body)["detail"]);

  const auto made =
      http_.Post("/api/v1/namespaces/other/simulationjobs", kBody, "application/json");
  EXPECT_EQ(made->status, 403);
  EXPECT_FALSE(cluster_.Find(kube::kSimulationJobs, {"other", "a"}));
  for (const char* all :
       {"/api/v1/simulationjobs", "/metrics", "/api/v1/namespaces/other/simulationjobs/secret/logs",
        "/api/v1/namespaces/other/simulationjobs/secret/events",
        "/api/v1/namespaces/other/simulatedclusters"}) {
    EXPECT_EQ(http_.Get(all)->status, 403) << all;
  }
}

TEST_F(KubeApiTest, EventsFollowTheObject) {
  ASSERT_EQ(Post(kBody)->status, 201);
  std::string text;
  const std::string path = std::string(kJobs) + "/a/events";

  const auto done = http_.Get(path.c_str(), [&](const char* data, std::size_t size) {
    text.append(data, size);
    if (text.find("event: status") != std::string::npos && text.find("Complete") == text.npos) {
      cluster_.Put(kube::kSimulationJobs, {"team", "a"}, {{"status", {{"phase", "Complete"}}}});
    }
    return true;
  });

  EXPECT_TRUE(done);
  EXPECT_THAT(text, HasSubstr("Complete"));
  EXPECT_THAT(text, HasSubstr("event: end"));
}

TEST_F(KubeApiTest, LogsAreThoseOfTheJobsOwnPods) {
  ASSERT_EQ(Post(kBody)->status, 201);
  const std::string uid = (*cluster_.Find(kube::kSimulationJobs, {"team", "a"}))["metadata"]["uid"];
  const auto own = [&](const std::string& owner) {
    cluster_.Put(
        kube::kJobs, {"team", "a"},
        {{"metadata",
          {{"uid", "batch"}, {"ownerReferences", {{{"uid", owner}, {"controller", true}}}}}}});
  };
  own(uid);
  const json ours = {{"metadata",
                      {{"labels", {{"eidolon.dev/simulation-job", "a"}}},
                       {"ownerReferences", {{{"uid", "batch"}, {"controller", true}}}}}}};
  cluster_.Put(kube::kPods, {"team", "a-0"}, ours);
  cluster_.Put(kube::kPods, {"team", "liar"},
               {{"metadata", {{"labels", {{"eidolon.dev/simulation-job", "a"}}}}}});
  cluster_.SetLog("a-0", "2026-01-01T00:00:00.5Z step 1\n");
  cluster_.SetLog("liar", "2026-01-01T00:00:00.6Z not yours\n");

  const auto log = http_.Get((std::string(kJobs) + "/a/logs").c_str());

  EXPECT_EQ(log->status, 200);
  EXPECT_EQ(log->body, "step 1\n");
  own("another's");
  EXPECT_EQ(http_.Get((std::string(kJobs) + "/a/logs").c_str())->body, "");
}

TEST(PodLogsTest, MergesByTimeAndHoldsBackWhatIsYoung) {
  const std::vector<PodLog> logs = {
      {0, "2026-01-01T00:00:01Z a\n2026-01-01T00:00:03.5Z c\n2026-01-01T00:00:09Z e\n"},
      {1, "2026-01-01T00:00:02.123456789Z b\n2026-01-01T00:00:03.50Z d\ntorn"}};

  const rest::LogPart early = MergeLogs(logs, 0, "2026-01-01T00:00:08.000000Z");
  ASSERT_EQ(early.entries.size(), 4u);
  EXPECT_EQ(
      early.entries[0].text + early.entries[1].text + early.entries[2].text + early.entries[3].text,
      "abcd");
  EXPECT_EQ(early.entries[1].server, 1u);
  EXPECT_EQ(early.next_offset, 8u);

  const rest::LogPart late = MergeLogs(logs, early.next_offset, "");
  ASSERT_EQ(late.entries.size(), 1u);
  EXPECT_EQ(late.entries[0].text, "e");
  EXPECT_EQ(MergeLogs(logs, late.next_offset, "").entries.size(), 0u);
}

TEST_F(KubeApiTest, AProbeTellsWhetherRestAnswersWhoMayAsk) {
  const eidolon::testing::TemporaryDirectory folder;
  const auto probe = [&](const std::string& token, const std::string& name_space) {
    const std::string path = folder / "token";
    std::ofstream(path) << token << "\n";
    return Probe(
        {.url = "http://" + server_->address(), .token_file = path, .name_space = name_space});
  };

  for (int look = 0; look < 2000 && http_.Get("/readyz")->status != 200; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  const auto good = probe("ann", "team");
  const auto stranger = probe("nobody", "team");
  const auto elsewhere = probe("ann", "secret");

  EXPECT_TRUE(good) << good.error().message;
  ASSERT_FALSE(stranger);
  EXPECT_THAT(stranger.error().message, HasSubstr("answered 401"));
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message, HasSubstr("answered 403"));
  EXPECT_FALSE(Probe({.url = "http://127.0.0.1:1", .token_file = "/none", .name_space = "team"}));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
