// The controller with agents that speak real gRPC: whole lives of jobs, and what users are told.
#include "services/controller/embedded/controller.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <latch>
#include <set>

#include "services/contract/recording/recording_file.h"
#include "services/controller/embedded/controller_fixture_test.h"
#include "services/controller/embedded/fakes_test.h"

namespace eidolon::controller::embedded {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST_F(ControllerTest, RunsAJobToItsPrediction) {
  Create(Job("job"));

  const json job = AwaitEnd("job");

  const json& status = job["status"];
  EXPECT_EQ(status["phase"], "Complete") << job.dump(1);
  EXPECT_EQ(LastCondition(job)["reason"], "IterationsMeasured");
  EXPECT_DOUBLE_EQ(status["prediction"]["iterationSeconds"]["mean"], 0.01);
  EXPECT_EQ(status["prediction"]["iterationPicoseconds"], json({10'000'000'000, 10'000'000'000}));
  EXPECT_DOUBLE_EQ(status["prediction"]["tokensPerSecond"], 100'000);
  EXPECT_DOUBLE_EQ(status["prediction"]["breakdown"]["compute"], 1.0);
  EXPECT_EQ(status["progress"]["iteration"], 3);
  EXPECT_TRUE(status["simulation"].contains("slowdown"));
  EXPECT_EQ(placement_.started(), 2u);
  EXPECT_THAT(MetricsText(), HasSubstr("eidolon_predicted_iteration_seconds{"));
  EXPECT_THAT(MetricsText(), HasSubstr("reason=\"IterationsMeasured\""));
  EXPECT_THAT(MetricsText(), HasSubstr("eidolon_job_progress_ratio{namespace=\"default\","
                                       "simulation_job=\"job\"} 1\n"));
  EXPECT_THAT(MetricsText(), HasSubstr("eidolon_job_slowdown_ratio{"));
}

TEST_F(ControllerTest, GivesAgentsAllTheyNeed) {
  std::mutex mutex;
  std::map<std::uint32_t, v1::Assignment> seen;
  RunWith([&](FakeAgent& agent) {
    {
      const std::lock_guard lock(mutex);
      seen[agent.server()] = agent.assignment();
    }
    return IterateAndStop(agent);
  });

  ASSERT_EQ(seen.size(), 2u);
  const v1::Assignment& assignment = seen[1];
  EXPECT_EQ(assignment.servers(), 2u);
  EXPECT_EQ(assignment.ranks_per_server(), 2u);
  EXPECT_THAT(assignment.command(), ElementsAre("python", "train.py"));
  EXPECT_EQ(assignment.cluster().gpu(), "H100-SXM5-80GB");
  EXPECT_EQ(assignment.cluster().nvlink().generation(), 4u);
  EXPECT_EQ(assignment.network_address(), "network:1");
  EXPECT_EQ(assignment.master_address(), "127.0.0.1");
  EXPECT_GT(assignment.master_port(), 0u);
  EXPECT_EQ(assignment.master_port(), seen[0].master_port());
  EXPECT_THAT(assignment.run_directory(), ::testing::EndsWith("/s1"));
  EXPECT_EQ(assignment.iterations().measure(), 2u);
}

TEST_F(ControllerTest, ForgetsTheJobAtTheNetworkAndItsFilesAfterTheRun) {
  Create(Job("job"));
  AwaitEnd("job");
  ASSERT_TRUE(Close());

  EXPECT_TRUE(simulators_.jobs().empty());
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "r"));
  Open();
}

TEST_F(ControllerTest, KeepsTheOutputAndEndsItsFollowers) {
  RunWith([](FakeAgent& agent) {
    if (agent.server() == 0) agent.Print("step 1 loss 0.5");
    return IterateAndStop(agent);
  });

  const auto first = controller_->api().ReadLog({"default", "job"}, 0, 0ms);
  ASSERT_EQ(first->entries.size(), 1u);
  EXPECT_EQ(first->entries[0].text, "step 1 loss 0.5");
  EXPECT_TRUE(controller_->api().ReadLog({"default", "job"}, first->next_offset, 10s)->ended);
}

TEST_F(ControllerTest, ListsJobsAsTheyComeChangeAndGo) {
  rest::Api& api = controller_->api();
  EXPECT_TRUE(api.AwaitJobs("", 0, 0, 0ms)->present.empty());
  Create(Job("job"));
  auto change = api.AwaitJobs("", 0, 0, 10s);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->present, std::set<std::string>{"default/job"});
  EXPECT_TRUE(api.AwaitJobs("other", 0, 0, 0ms)->present.empty());

  json last = json::object();
  for (int i = 0; i < 100 && last.value("/status/phase"_json_pointer, "") != "Complete"; ++i) {
    change = api.AwaitJobs("default", change->version, 1, 1s);
    if (!change->changed.empty()) last = change->changed[0];
  }

  EXPECT_EQ(last["status"]["phase"], "Complete");
  const json& prediction = last["status"]["prediction"];
  EXPECT_EQ(prediction["target"]["cluster"]["server"]["gpu"], "H100-SXM5-80GB");
  EXPECT_EQ(prediction["target"]["ranks"], 4);
  EXPECT_FALSE(prediction.contains("kernels"));
  (void)api.DeleteJob({"default", "job"});
  EXPECT_TRUE(api.AwaitJobs("", change->version, 1, 10s)->present.empty());
}

TEST_F(ControllerTest, ACrashingScriptFailsTheJobWithItsLastWords) {
  const json job = RunWith([](FakeAgent& agent) {
    if (agent.server() == 1) {
      agent.Print("ValueError: bad batch");
      agent.End(v1::OUTCOME_REASON_COMMAND_FAILED, "the command ended with exit status 1");
    } else {
      agent.AwaitStop();
      agent.End(v1::OUTCOME_REASON_STOPPED);
    }
    return std::string("ended with status 0");
  });

  EXPECT_EQ(LastCondition(job)["reason"], "CommandFailed");
  EXPECT_EQ(LastCondition(job)["message"],
            "server 1: the command ended with exit status 1; it printed: ValueError: bad batch");
}

TEST_F(ControllerTest, OutOfMemoryIsAVerdictWithNumbers) {
  const json job = RunWith([](FakeAgent& agent) {
    agent.UseMemory(78ull << 30, 4ull << 30);
    agent.End(v1::OUTCOME_REASON_OUT_OF_MEMORY, "rank 0 ran out of device memory");
    return std::string("ended with status 0");
  });

  EXPECT_EQ(LastCondition(job)["reason"], "OutOfMemory");
  EXPECT_THAT(LastCondition(job)["message"].get<std::string>(),
              HasSubstr("peaked at 78.0 GiB of 80.0 GiB"));
  EXPECT_EQ(job["status"]["prediction"]["memory"]["fits"], false);
}

struct FailureRow {
  const char* name;
  v1::OutcomeReason outcome;
  const char* reason;
};

class ControllerFailureTest : public ControllerTest,
                              public ::testing::WithParamInterface<FailureRow> {};

TEST_P(ControllerFailureTest, HasItsReasonAndTheAgentsSentence) {
  const json job = RunWith([](FakeAgent& agent) {
    agent.End(GetParam().outcome, "what happened");
    return std::string("ended with status 0");
  });

  EXPECT_EQ(job["status"]["phase"], "Failed");
  EXPECT_EQ(LastCondition(job)["reason"], GetParam().reason);
  EXPECT_THAT(LastCondition(job)["message"].get<std::string>(), HasSubstr("what happened"));
}

INSTANTIATE_TEST_SUITE_P(
    , ControllerFailureTest,
    ::testing::Values(
        FailureRow{"Deadlock", v1::OUTCOME_REASON_DEADLOCK, "Deadlock"},
        FailureRow{"RankLost", v1::OUTCOME_REASON_RANK_LOST, "RankLost"},
        FailureRow{"Unsupported", v1::OUTCOME_REASON_UNSUPPORTED_CALL, "UnsupportedCall"},
        FailureRow{"ServiceLost", v1::OUTCOME_REASON_SERVICE_LOST, "ServiceLost"},
        FailureRow{"Mismatch", v1::OUTCOME_REASON_COLLECTIVE_MISMATCH, "CollectiveMismatch"},
        FailureRow{"RingDamaged", v1::OUTCOME_REASON_RING_DAMAGED, "RingDamaged"}),
    [](const auto& row) { return row.param.name; });

// Four ranks on two servers, one live rank a class.
json FoldedJob() {
  json job = Job("job");
  job["spec"]["folding"] = {{"mode", "required"}, {"livePerClass", 1}};
  return job;
}

TEST_F(ControllerTest, AFoldedJobStartsAgainWithTheClassesThatItsRanksShowed) {
  placement_.SetScript([](FakeAgent& agent) {
    const auto& folding = agent.assignment().folding();
    if (folding.ranks() > 0 && folding.dimensions().empty()) {
      agent.Differ(2, 2);
      return std::string("ended with status 0");
    }
    return IterateAndStop(agent);
  });
  Create(FoldedJob());
  Create(Job("next"));

  const json job = AwaitEnd("job");

  EXPECT_EQ(job["status"]["phase"], "Complete") << LastCondition(job);
  EXPECT_EQ(job["status"]["prediction"]["folding"]["classes"], 2);
  EXPECT_EQ(job["status"]["prediction"]["folding"]["live"], json({0, 2}));
  EXPECT_EQ(AwaitEnd("next")["status"]["phase"], "Complete");
  EXPECT_EQ(placement_.started(), 3u + 2u);  // One agent, then one for each class; then the next.
}

TEST_F(ControllerTest, AFoldedJobWhoseRanksDifferInWaysThatAreKnownFails) {
  placement_.SetScript([](FakeAgent& agent) {
    agent.Differ(2, 2);
    return std::string("ended with status 0");
  });
  Create(FoldedJob());

  const json job = AwaitEnd("job");

  EXPECT_EQ(LastCondition(job)["reason"], "RanksDiffer");
  EXPECT_THAT(LastCondition(job)["message"].get<std::string>(),
              HasSubstr("rank 0 sends to rank 2"));
}

TEST_F(ControllerTest, AnAgentThatIsKilledTakesTheJobDown) {
  const json job = RunWith([](FakeAgent& agent) {
    if (agent.server() == 1) return std::string("was killed by signal 9 (Killed)");
    agent.AwaitStop();
    agent.End(v1::OUTCOME_REASON_STOPPED);
    return std::string("ended with status 0");
  });

  EXPECT_EQ(LastCondition(job)["reason"], "AgentLost");
  EXPECT_EQ(LastCondition(job)["message"], "the agent of server 1 was killed by signal 9 (Killed)");
}

TEST_F(ControllerTest, AServerThatMissesAnothersRanksIsNotTheCause) {
  // An agent that comes when the job is being ended already is not let in, and has nothing to tell.
  std::latch connected(2);
  const json job = RunWith([&connected](FakeAgent& agent) {
    connected.arrive_and_wait();
    if (agent.server() == 1) {
      agent.AwaitStop();
      agent.End(v1::OUTCOME_REASON_COMMAND_FAILED, "exit status 1");
    } else {
      agent.End(v1::OUTCOME_REASON_PEER_LOST, "rank 3 has gone");
    }
    return std::string("ended with status 0");
  });

  EXPECT_EQ(LastCondition(job)["reason"], "CommandFailed");
  EXPECT_EQ(LastCondition(job)["message"], "server 1: exit status 1");
}

TEST_F(ControllerTest, AgentsThatCannotBeStartedFailTheJob) {
  placement_.FailNextStart("starting /x/eidolon-agent: No such file or directory");
  Create(Job("job"));

  const json job = AwaitEnd("job");

  EXPECT_EQ(LastCondition(job)["reason"], "StartFailed");
  EXPECT_THAT(LastCondition(job)["message"].get<std::string>(), HasSubstr("eidolon-agent"));
}

TEST_F(ControllerTest, ARecordingThatHasNotTheJobsRanksStartsNoAgent) {
  const std::string path = root_ / "recording";
  {
    std::ofstream file(path, std::ios::binary);
    recording::WriteJob("{}", &file);
  }
  json document = Job("job");
  document["spec"]["replay"] = {{"recording", path}};
  Create(document);

  const json job = AwaitEnd("job");

  EXPECT_EQ(LastCondition(job)["reason"], "StartFailed") << job.dump(1);
  EXPECT_THAT(LastCondition(job)["message"].get<std::string>(),
              HasSubstr("the recording has 0 ranks and the job has 4"));
  EXPECT_EQ(placement_.started(), 0u);
}

TEST_F(ControllerTest, AStrangerIsNotLetIn) {
  const auto stub = v1::ControllerService::NewStub(
      grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->AgentSession(&context);
  v1::AgentReport hello;
  hello.mutable_hello()->set_token("guess");
  stream->Write(hello);
  v1::ControllerCommand command;

  EXPECT_FALSE(stream->Read(&command));

  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ControllerTest, JobsWaitForTheirTurn) {
  Create(Job("first"));
  Create(Job("second"));
  Create(Job("third"));

  EXPECT_EQ(AwaitEnd("third")["status"]["phase"], "Complete");
  for (const char* name : {"first", "second"}) {
    EXPECT_EQ(controller_->api().GetJob({"default", name})->at("status")["phase"], "Complete");
  }
}

TEST_F(ControllerTest, ASuspendedJobRunsWhenResumed) {
  json document = Job("job");
  document["spec"]["suspend"] = true;
  Create(document);
  Create(Job("other"));
  AwaitEnd("other");
  const json status = controller_->api().GetJob({"default", "job"})->at("status");
  EXPECT_EQ(status["phase"], "Pending");
  EXPECT_EQ(status["conditions"].back()["reason"], "Suspended");
  EXPECT_EQ(status["conditions"].back()["message"],
            "spec.suspend is true: it starts once that is false");

  ASSERT_TRUE(controller_->api().SetSuspend({"default", "job"}, false));

  EXPECT_EQ(AwaitEnd("job")["status"]["phase"], "Complete");
}

TEST_F(ControllerTest, DeletingARunningJobEndsItsAgentsFirst) {
  placement_.SetScript([](FakeAgent& agent) {
    EXPECT_EQ(agent.AwaitStop(), "the job was deleted");
    agent.End(v1::OUTCOME_REASON_STOPPED);
    return std::string("ended with status 0");
  });
  Create(Job("job"));
  Await("job", [](const json& job, bool) { return LastCondition(job)["reason"] == "Started"; });

  const auto deleted = controller_->api().DeleteJob({"default", "job"});

  EXPECT_TRUE(deleted->at("metadata").contains("deletionTimestamp"));
  EXPECT_THAT(AwaitEnd("job")["gone"].get<std::string>(), HasSubstr("no simulation job 'job'"));
}

TEST_F(ControllerTest, ARepeatedRequestAnswersTheFirstJob) {
  const rest::IdempotencyKey key = {"k", "digest"};
  const auto first = controller_->api().CreateJob("default", Job("job"), key);

  const auto second = controller_->api().CreateJob("default", Job("job"), key);
  const auto other =
      controller_->api().CreateJob("default", Job("job"), rest::IdempotencyKey{"k", "x"});

  EXPECT_FALSE(first->repeated);
  EXPECT_TRUE(second->repeated);
  EXPECT_EQ(second->object["metadata"]["uid"], first->object["metadata"]["uid"]);
  EXPECT_THAT(other.error().message, HasSubstr("was used with another body"));
}

TEST_F(ControllerTest, ClustersAreUsedByName) {
  const json cluster = {{"apiVersion", "eidolon.dev/v1alpha1"},
                        {"kind", "SimulatedCluster"},
                        {"metadata", {{"name", "pod"}}},
                        {"spec", {{"servers", 4}, {"server", {{"preset", "dgx-a100"}}}}}};
  ASSERT_TRUE(controller_->api().CreateCluster("default", cluster));
  json document = Job("job");
  document["spec"].erase("cluster");
  document["spec"]["clusterRef"]["name"] = "pod";
  document["spec"]["servers"] = 1;
  Create(document);
  EXPECT_EQ(AwaitEnd("job")["status"]["phase"], "Complete");

  document["metadata"]["name"] = "other";
  document["spec"]["clusterRef"]["name"] = "pot";
  const auto refused = controller_->api().CreateJob("default", document, std::nullopt);

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().problems,
              ElementsAre(job::Problem{"/spec/clusterRef/name",
                                       "no simulated cluster 'pot' in namespace 'default', did you "
                                       "mean 'pod'?"}));
}

TEST_F(ControllerTest, RefusesUnknownGpusWithTheNearestName) {
  json document = Job("job");
  document["spec"]["cluster"]["server"]["gpu"] = "H100-SXM-80GB";

  const auto refused = controller_->api().CreateJob("default", document, std::nullopt);

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().problems[0].detail, HasSubstr("did you mean 'H100-SXM5-80GB'?"));
}

TEST_F(ControllerTest, WithoutItsServicesItIsNotReady) {
  EXPECT_TRUE(controller_->api().CheckReady());
  simulators_.Break();

  EXPECT_THAT(controller_->api().CheckReady().error().message,
              HasSubstr("timing service at timing:1"));
  EXPECT_EQ(controller_->api().CreateJob("default", Job("job"), std::nullopt).error().code,
            base::ErrorCode::kUnavailable);
}

TEST_F(ControllerTest, StoppingInterruptsWhatRunsAndKeepsWhatWaits) {
  placement_.SetScript([](FakeAgent& agent) {
    agent.Iterate(0);
    agent.Iterate(1);
    agent.AwaitStop();
    agent.End(v1::OUTCOME_REASON_STOPPED);
    return std::string("ended with status 0");
  });
  Create(Job("running"));
  Create(Job("waiting"));
  Await("running", [](const json& job, bool) {
    return job["status"].contains("progress") && job["status"]["progress"]["iteration"] == 2;
  });

  ASSERT_TRUE(Close());
  Open();

  const auto running = controller_->api().GetJob({"default", "running"});
  EXPECT_EQ(LastCondition(*running)["reason"], "ControllerStopped");
  EXPECT_EQ(running->at("status")["prediction"]["measuredIterations"], 1);
  EXPECT_EQ(AwaitEnd("waiting")["status"]["phase"], "Complete");
}

TEST_F(ControllerTest, AJobGoesWhenItsTimeToLiveIsOver) {
  json document = Job("job");
  document["spec"]["ttlSecondsAfterFinished"] = 0;
  Create(document);

  EXPECT_THAT(Await("job", [](const json&, bool) { return false; })["gone"].get<std::string>(),
              HasSubstr("no simulation job"));
}

}  // namespace
}  // namespace eidolon::controller::embedded
