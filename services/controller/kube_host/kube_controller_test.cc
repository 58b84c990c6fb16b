// The controller against a cluster in memory: the test plays kubelet, deployment controller and
// agents.
#include "services/controller/kube_host/kube_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <future>
#include <thread>

#include "services/base/text.h"
#include "services/controller/kube_host/fake_cluster_test.h"
#include "services/controller/kube_host/object_text.h"
#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::kube_host {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience(20);
constexpr std::uint64_t kTenMs = 10'000'000'000;
const kube::ObjectKey kJob = {"team", "train"};

class FakeSimulators final : public simulators::Simulators {
 public:
  explicit FakeSimulators(std::string network) : network_(std::move(network)) {}
  Result<std::vector<std::string>> ListGpus() override {
    return std::vector<std::string>{"H100-SXM5-80GB"};
  }
  Result<double> FindPeakFlops(const std::string&) override { return 1e15; }
  Result<void> RegisterJob(const std::string&, const job::ResolvedJob&) override { return {}; }
  void RemoveJob(const std::string&) override {}
  std::string timing_address() const override { return "timing:1"; }
  std::string network_address() const override { return network_; }

 private:
  const std::string network_;
};

class FakeLink final : public agents::AgentLink {
 public:
  void SendStop(const std::string& reason) override { stopped_.set_value(reason); }
  std::string AwaitStop() {
    auto reason = stopped_.get_future();
    return reason.wait_for(kPatience) == std::future_status::ready ? reason.get() : "never";
  }

 private:
  std::promise<std::string> stopped_;
};

template <typename Test>
bool Eventually(const Test& test) {
  const base::SystemClock clock;
  const std::int64_t begin_ns = clock.MonotonicNs();
  while (clock.MonotonicNs() - begin_ns < std::chrono::nanoseconds(kPatience).count()) {
    if (test()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// One controller process: what main.cc makes.
struct Process {
  explicit Process(const FakeCluster& cluster)
      : client({.url = cluster.url(), .ca_file = {}, .token_file = {}}, clock),
        reviews(&client, clock),
        metrics(&registry),
        controller({.settings = {.services_image = "services:1",
                                 .injection_image = "injection:1",
                                 .agents_address = "10.0.0.1:7401"},
                    .name_space = "",
                    .jobs_max = 2},
                   {.clock = clock,
                    .client = client,
                    .reviews = reviews,
                    .metrics = metrics,
                    .find_simulators = [](const std::string& network) {
                      return std::make_shared<FakeSimulators>(network);
                    }}) {
    controller.Start();
  }

  const base::SystemClock clock;
  kube::Client client;
  kube::Reviews reviews;
  prometheus::Registry registry;
  metrics::Metrics metrics;
  KubeController controller;
};

class KubeControllerTest : public ::testing::Test {
 protected:
  void PutCluster(const std::string& name_space = "team") {
    cluster_.Put(kube::kSimulatedClusters, {name_space, "pod"},
                 {{"spec", {{"servers", 4}, {"server", {{"preset", "dgx-h100"}}}}}});
  }

  void PutJob(const std::string& name = "train", const std::string& name_space = "team") {
    cluster_.Put(kube::kSimulationJobs, {name_space, name},
                 {{"spec",
                   {{"clusterRef", {{"name", "pod"}}},
                    {"servers", 2},
                    {"ranksPerServer", 1},
                    {"image", "train:1"},
                    {"command", {"torchrun", "train.py"}},
                    {"iterations", {{"warmup", 1}, {"measure", 2}}}}}});
  }

  // As the deployment controller would, once the controller has made it.
  bool StartNetwork(const std::string& name_space = "team") {
    const kube::ObjectKey network{name_space, "pod-network"};
    if (!Eventually([&] { return cluster_.Find(kube::kDeployments, network); })) return false;
    cluster_.Put(kube::kDeployments, network, {{"status", {{"availableReplicas", 1}}}});
    return true;
  }

  // As job controller and kubelet would: pods that run, with tokens of their own.
  bool StartPods() {
    if (!Eventually([&] { return cluster_.Find(kube::kJobs, kJob); })) return false;
    const json batch = *cluster_.Find(kube::kJobs, kJob);
    for (int server = 0; server < 2; ++server) {
      const std::string name = StrCat("train-", server);
      json pod = batch["spec"]["template"];
      pod["metadata"]["uid"] = name + "-uid-" + UidOf(batch);
      pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] =
          std::to_string(server);
      pod["metadata"]["ownerReferences"] = {
          {{"kind", "Job"}, {"uid", UidOf(batch)}, {"controller", true}}};
      pod["status"] = {{"phase", "Running"}, {"podIP", StrCat("10.1.0.", server + 1)}};
      cluster_.Put(kube::kPods, {"team", name}, pod);
      AddToken(StrCat("token-", server), name, pod["metadata"]["uid"]);
    }
    return true;
  }

  void AddToken(const std::string& token, const std::string& pod, const std::string& uid) {
    cluster_.AddToken(token, reconcile::kTokenAudience, "system:serviceaccount:team:default",
                      {{"authentication.kubernetes.io/pod-name", {pod}},
                       {"authentication.kubernetes.io/pod-uid", {uid}}});
  }

  void EndPods() {
    for (int server = 0; server < 2; ++server) {
      cluster_.Put(kube::kPods, {"team", StrCat("train-", server)},
                   {{"status",
                     {{"phase", "Succeeded"},
                      {"containerStatuses",
                       {{{"name", "server"}, {"state", {{"terminated", {{"exitCode", 0}}}}}}}}}}});
    }
  }

  // Both agents come; their assignments by server.
  std::vector<Result<agents::Assignment>> Attach(Process* process) {
    std::vector<std::future<Result<agents::Assignment>>> calls;
    for (int server = 0; server < 2; ++server) {
      calls.push_back(std::async(std::launch::async, [this, process, server] {
        return process->controller.agents().Attach(StrCat("token-", server), links_[server]);
      }));
    }
    std::vector<Result<agents::Assignment>> answers;
    for (auto& call : calls) answers.push_back(call.get());
    return answers;
  }

  // Three iterations of both ranks, then the end of the agents and their pods.
  void RunToTheEnd(Process* process, const std::vector<Result<agents::Assignment>>& assignments) {
    for (std::uint32_t index = 0; index < 3; ++index) {
      for (int rank = 0; rank < 2; ++rank) {
        process->controller.agents().OnIteration(assignments[rank]->agent,
                                                 {.rank = rank,
                                                  .index = index,
                                                  .start_ps = index * kTenMs,
                                                  .end_ps = (index + 1) * kTenMs,
                                                  .error_ps = 0,
                                                  .breakdown = {},
                                                  .coverage = {},
                                                  .assumed_kernels = {},
                                                  .kernels = {}});
      }
    }
    for (int server = 0; server < 2; ++server) {
      EXPECT_THAT(links_[server]->AwaitStop(), HasSubstr("measured"));
      process->controller.agents().OnOutcome(
          assignments[server]->agent, {.reason = job::OutcomeReason::kStopped, .message = {}});
      process->controller.agents().Detach(assignments[server]->agent);
    }
    EndPods();
  }

  json Status() { return cluster_.Find(kube::kSimulationJobs, kJob)->value("status", json()); }
  std::string Phase() { return Status().is_null() ? "" : Status().value("phase", ""); }
  std::string ReasonOf(const std::string& type) {
    for (const json& entry : Status().value("conditions", json::array())) {
      if (entry["type"] == type) return entry["reason"];
    }
    return "";
  }

  FakeCluster cluster_;
  std::shared_ptr<FakeLink> links_[2] = {std::make_shared<FakeLink>(),
                                         std::make_shared<FakeLink>()};
};

TEST_F(KubeControllerTest, AJobRunsToItsPrediction) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());

  const auto assignments = Attach(&process);

  for (int server = 0; server < 2; ++server) {
    const auto& assignment = assignments[server];
    ASSERT_TRUE(assignment) << assignment.error().message;
    EXPECT_EQ(assignment->agent.server, static_cast<std::uint32_t>(server));
    EXPECT_EQ(assignment->master_address, "10.1.0.1");
    EXPECT_EQ(assignment->network_address, "pod-network.team.svc:7403");
  }
  EXPECT_TRUE(Eventually([&] { return ReasonOf("Running") == "Started"; }));
  RunToTheEnd(&process, assignments);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);
  EXPECT_DOUBLE_EQ(Status()["prediction"]["iterationSeconds"]["mean"], 0.01);
  EXPECT_EQ(Status()["attempt"], 1);
  std::set<std::string> told;
  for (const json& event : cluster_.List(kube::kEvents)) told.insert(event["reason"]);
  EXPECT_TRUE(told.contains("Placed") && told.contains("Started"));
}

TEST_F(KubeControllerTest, AVerdictIsRepeatedUntilTheApiServerTakesIt) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  const auto assignments = Attach(&process);
  ASSERT_TRUE(assignments[0] && assignments[1]);
  const auto metrics = [&] {
    return prometheus::TextSerializer().Serialize(process.registry.Collect());
  };
  cluster_.RefuseStatus("Complete", "etcdserver: mvcc: database space exceeded");

  RunToTheEnd(&process, assignments);

  EXPECT_TRUE(Eventually([&] {
    return metrics().find("eidolon_controller_unsaved_transitions 1") != std::string::npos;
  }));
  EXPECT_THAT(metrics(), HasSubstr("eidolon_controller_store_writable 0"));
  EXPECT_THAT(metrics(), ::testing::Not(HasSubstr("eidolon_controller_finished_jobs_total{")));
  EXPECT_EQ(Phase(), "Running");
  cluster_.RefuseStatus("", "");
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);
  EXPECT_TRUE(Eventually([&] {
    return metrics().find("eidolon_controller_unsaved_transitions 0") != std::string::npos;
  }));
  EXPECT_THAT(metrics(), HasSubstr("eidolon_controller_store_writable 1"));
}

TEST_F(KubeControllerTest, OnlyTheJobsOwnPodsAreWelcome) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  // A pod of another user, dressed up as ours.
  json stranger = *cluster_.Find(kube::kPods, {"team", "train-0"});
  stranger["metadata"]["uid"] = "stranger-uid";
  stranger["metadata"]["ownerReferences"] = json::array();
  cluster_.Put(kube::kPods, {"team", "stranger"}, stranger);
  cluster_.Put(kube::kPods, {"team", "stranger"}, {{"metadata", {{"uid", "stranger-uid"}}}});
  AddToken("stranger", "stranger", "stranger-uid");
  AddToken("stale", "train-0", "the uid of an earlier pod");
  cluster_.AddToken("elsewhere", "another.audience", "system:serviceaccount:team:default");

  for (const char* token : {"unknown", "elsewhere"}) {
    const auto refused = process.controller.agents().Attach(token, links_[0]);
    ASSERT_FALSE(refused) << token;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << token;
  }
  std::vector<std::future<Result<agents::Assignment>>> calls;
  for (const char* token : {"stranger", "stale"}) {
    calls.push_back(std::async(std::launch::async, [&process, token, this] {
      return process.controller.agents().Attach(token, links_[0]);
    }));
  }
  for (auto& call : calls) {
    const auto refused = call.get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  }
}

TEST_F(KubeControllerTest, AdmissionThatRefusesPodsFailsTheJob) {
  cluster_.RefusePods("pods \"train\" is forbidden: violates PodSecurity \"restricted:latest\"");
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());

  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; }));

  EXPECT_EQ(ReasonOf("Failed"), "PodSecurityViolation");
  EXPECT_FALSE(cluster_.Find(kube::kJobs, kJob));
}

TEST_F(KubeControllerTest, AnotherControllerBeginsTheJobAgain) {
  PutCluster();
  PutJob();
  {
    Process first(cluster_);
    ASSERT_TRUE(StartNetwork());
    ASSERT_TRUE(StartPods());
    for (const auto& assignment : Attach(&first)) ASSERT_TRUE(assignment);
    ASSERT_TRUE(Eventually([&] { return ReasonOf("Running") == "Started"; }));
  }
  const std::string uid = UidOf(*cluster_.Find(kube::kJobs, kJob));

  Process second(cluster_);

  ASSERT_TRUE(Eventually([&] {
    const auto placed = cluster_.Find(kube::kJobs, kJob);
    return placed && UidOf(*placed) != uid;
  }));
  EXPECT_TRUE(Eventually([&] { return Status().value("attempt", 0) == 2; }));
}

TEST_F(KubeControllerTest, ADeletedJobLetsItsAgentsGo) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  for (const auto& assignment : Attach(&process)) ASSERT_TRUE(assignment);

  cluster_.Remove(kube::kSimulationJobs, kJob);

  EXPECT_EQ(links_[0]->AwaitStop(), "the job is over");
  EXPECT_EQ(links_[1]->AwaitStop(), "the job is over");
}

TEST_F(KubeControllerTest, AClusterDeletedInMidRunFailsTheJob) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  for (const auto& assignment : Attach(&process)) ASSERT_TRUE(assignment);

  cluster_.Remove(kube::kSimulatedClusters, {"team", "pod"});

  EXPECT_EQ(links_[0]->AwaitStop(), "the job is over");
  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);
  EXPECT_EQ(ReasonOf("Failed"), "ClusterNotFound");
}

TEST_F(KubeControllerTest, AFailedRunKeepsItsPodsUntilTheyEnd) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  const auto assignments = Attach(&process);
  for (int server = 0; server < 2; ++server) {
    ASSERT_TRUE(assignments[server]);
    // Told and gone before anybody asked it to stop.
    process.controller.agents().OnOutcome(
        assignments[server]->agent,
        {.reason = job::OutcomeReason::kCommandFailed, .message = "no"});
    process.controller.agents().Detach(assignments[server]->agent);
  }
  ASSERT_TRUE(Eventually([&] { return ReasonOf("Running") == "Stopping"; })) << Status().dump(1);

  EndPods();

  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);
  EXPECT_EQ(ReasonOf("Failed"), "CommandFailed");
  EXPECT_TRUE(cluster_.Find(kube::kJobs, kJob)) << "with it, its pods and their logs are gone";
}

TEST_F(KubeControllerTest, JobsWaitForTheirTurn) {
  Process process(cluster_);
  PutCluster();
  for (const char* name : {"train", "train-b", "train-c"}) PutJob(name);
  ASSERT_TRUE(StartNetwork());

  EXPECT_TRUE(Eventually([&] { return cluster_.List(kube::kJobs).size() == 2; }));
  EXPECT_TRUE(Eventually([&] {
    int queued = 0;
    for (const json& object : cluster_.List(kube::kSimulationJobs)) {
      queued += object.dump().find("\"reason\":\"Queued\"") != std::string::npos;
    }
    return queued == 1;
  }));
  EXPECT_EQ(cluster_.List(kube::kJobs).size(), 2u);
}

// Two run at a time; of those that wait only the next eight are looked at for their place.
TEST_F(KubeControllerTest, ALongQueueOfOneNamespaceKeepsNobodyElseWaiting) {
  Process process(cluster_);
  PutCluster();
  PutCluster("zeta");
  for (int i = 10; i < 22; ++i) PutJob(StrCat("train-", i));
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartNetwork("zeta"));
  ASSERT_TRUE(Eventually([&] { return cluster_.List(kube::kJobs).size() == 2; }));
  PutJob("last", "zeta");
  ASSERT_TRUE(Eventually([&] {
    const auto last = cluster_.Find(kube::kSimulationJobs, {"zeta", "last"});
    return last && last->dump().find("\"reason\":\"Queued\"") != std::string::npos;
  }));

  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // Nothing is on its way any more.
  for (const json& running : cluster_.List(kube::kJobs)) {
    cluster_.Remove(kube::kSimulationJobs, {"team", running["metadata"]["name"]});
  }

  EXPECT_TRUE(Eventually([&] { return cluster_.Find(kube::kJobs, {"zeta", "last"}); }));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
