// Shares what tests of the controller need: a cluster in memory, for which the test plays kubelet,
// deployment controller and agents.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "services/controller/kube_host/controller_process_test.h"

namespace eidolon::controller::kube_host {

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

  // Acts as the deployment controller would, once the controller has made it.
  bool StartNetwork(const std::string& name_space = "team") {
    const kube::ObjectKey network{name_space, "pod-network"};
    if (!Eventually([&] { return cluster_.Find(kube::kDeployments, network); })) return false;
    cluster_.Put(kube::kDeployments, network, {{"status", {{"availableReplicas", 1}}}});
    return true;
  }

  // Acts as job controller and kubelet would: pods that run, with tokens of their own.
  bool StartPods() {
    if (!Eventually([&] { return cluster_.Find(kube::kJobs, kJob); })) return false;
    const json batch = *cluster_.Find(kube::kJobs, kJob);
    ++placements_;
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
      AddToken(TokenOf(server), name, pod["metadata"]["uid"]);
    }
    return true;
  }

  std::string TokenOf(int server) const { return StrCat("token-", server, "-", placements_); }

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
        return process->controller.agents().Attach(TokenOf(server), links_[server]);
      }));
    }
    std::vector<Result<agents::Assignment>> answers;
    for (auto& call : calls) answers.push_back(call.get());
    return answers;
  }

  // Those that run on the agent's server.
  static std::vector<std::uint32_t> RanksOf(const agents::Assignment& assignment) {
    const job::ResolvedJob& resolved = assignment.resolved;
    const std::uint32_t server = assignment.agent.server, count = resolved.ranks_per_server;
    if (resolved.fold.is_folded()) return resolved.fold.LiveOn(server, count);
    std::vector<std::uint32_t> ranks(count);
    std::iota(ranks.begin(), ranks.end(), server * count);
    return ranks;
  }

  // Three iterations of all ranks, then the end of the agents and their pods.
  void RunToTheEnd(Process* process, const std::vector<Result<agents::Assignment>>& assignments) {
    for (std::uint32_t index = 0; index < 3; ++index) {
      for (const auto& assignment : assignments) {
        for (const std::uint32_t rank : RanksOf(*assignment)) {
          process->controller.agents().OnIteration(assignment->agent,
                                                   {.rank = static_cast<std::int32_t>(rank),
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
    if (Status().is_null()) return "";
    for (const json& entry : Status().value("conditions", json::array())) {
      if (entry["type"] == type) return entry["reason"];
    }
    return "";
  }

  FakeCluster cluster_;
  int placements_ = 0;  // How often pods were started.
  std::shared_ptr<FakeLink> links_[2] = {std::make_shared<FakeLink>(),
                                         std::make_shared<FakeLink>()};
};

}  // namespace eidolon::controller::kube_host
