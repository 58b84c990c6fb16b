// Tests what users see of a controller whose disk is full, broken or slow: nothing that is taken
// back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>

#include "services/controller/embedded/controller_fixture_test.h"
#include "services/testing/faulty_disk.h"

namespace eidolon::controller::embedded {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

void Pause(std::chrono::milliseconds time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable never;
  never.wait_for(lock, time);
}

bool AwaitThat(const std::function<bool()>& done) {
  for (int i = 0; i < 6000 && !done(); ++i) Pause(10ms);
  return done();
}

// This comes before anything else, because a database keeps what it was opened with.
struct WithDisk {
  testing::FaultyDisk disk_;
};

class ControllerDiskTest : public WithDisk, public ControllerTest {
 protected:
  ~ControllerDiskTest() override { disk_.Heal(); }

  json Get(const std::string& name) { return *controller_->api().GetJob({"default", name}); }
  static json FindCondition(const json& job, const std::string& type) {
    for (const json& condition : job["status"]["conditions"]) {
      if (condition["type"] == type) return condition;
    }
    return {};
  }
  // A job whose agents wait for `go` in the middle of their work.
  void CreateAndHold(const std::string& name) {
    placement_.SetScript([this](FakeAgent& agent) {
      agent.Iterate(0);
      begun_.count_down();
      go_.wait();
      for (std::uint32_t index = 1; index < 3; ++index) agent.Iterate(index);
      agent.AwaitStop();
      agent.End(v1::OUTCOME_REASON_STOPPED);
      return std::string("ended with status 0");
    });
    Create(Job(name));
    begun_.wait();
  }
  bool AwaitReady(bool ready) {
    return AwaitThat([&] { return controller_->api().CheckReady().has_value() == ready; });
  }
  // Returns what a user sees of a job that has ended, but whose verdict waits for the disk.
  json AwaitWaiting(const std::string& name) {
    EXPECT_TRUE(AwaitThat([&] {
      return FindCondition(Get(name), "Running").value("reason", "") == "WaitingForStore";
    }));
    return Get(name);
  }

  std::latch begun_{2};  // Servers.
  std::latch go_{1};
};

TEST_F(ControllerDiskTest, AVerdictIsShownWhenItIsStoredAndNotBefore) {
  CreateAndHold("job");
  disk_.FillUp();
  go_.count_down();

  const json waiting = AwaitWaiting("job");

  EXPECT_EQ(waiting["status"]["phase"], "Running");
  EXPECT_TRUE(FindCondition(waiting, "Complete").is_null());
  const json running = FindCondition(waiting, "Running");
  EXPECT_THAT(running["message"].get<std::string>(), HasSubstr("the job has ended"));
  EXPECT_THAT(running["message"].get<std::string>(), HasSubstr("disk is full"));
  EXPECT_THAT(running["message"].get<std::string>(), HasSubstr("free space on the disk of"));
  EXPECT_THAT(MetricsOf(), HasSubstr("eidolon_controller_unsaved_transitions 1"));
  EXPECT_THAT(MetricsOf(), HasSubstr("eidolon_controller_store_writable 0"));
  EXPECT_THAT(MetricsOf(), ::testing::Not(HasSubstr("reason=\"IterationsMeasured\"")));
  EXPECT_FALSE(controller_->api().ReadLog({"default", "job"}, 0, 0ms)->ended);

  disk_.Heal();

  const json over = AwaitEnd("job");
  EXPECT_EQ(over["status"]["phase"], "Complete") << over.dump(1);
  EXPECT_EQ(FindCondition(over, "Running")["reason"], "Finished");
  EXPECT_TRUE(AwaitThat([&] {
    return MetricsOf().find("eidolon_controller_unsaved_transitions 0") != std::string::npos;
  }));
  EXPECT_THAT(MetricsOf(), HasSubstr("reason=\"IterationsMeasured\",result=\"Complete\"} 1"));
  ASSERT_TRUE(Close());
  Open();
  EXPECT_EQ(Get("job")["status"]["phase"], "Complete");
}

TEST_F(ControllerDiskTest, AFailedFsyncLosesNoVerdict) {
  CreateAndHold("job");
  disk_.FailSyncs(3);
  go_.count_down();

  EXPECT_EQ(AwaitEnd("job")["status"]["phase"], "Complete");

  ASSERT_TRUE(Close());
  Open();
  EXPECT_EQ(Get("job")["status"]["phase"], "Complete");
}

TEST_F(ControllerDiskTest, AControllerThatEndsWithAVerdictUnsavedSaysSoAndTellsNoFalsehoodLater) {
  CreateAndHold("job");
  disk_.FillUp();
  go_.count_down();
  AwaitWaiting("job");

  const auto stopped = Close();

  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().message, HasSubstr("1 result(s) could not be stored"));
  EXPECT_THAT(stopped.error().message, HasSubstr("Complete (IterationsMeasured)"));
  disk_.Heal();
  Open();
  const json later = AwaitEnd("job");
  EXPECT_EQ(LastCondition(later)["reason"], "ControllerRestarted");
  EXPECT_THAT(LastCondition(later)["message"].get<std::string>(),
              HasSubstr("while the job ran, or before it could store how the job ended"));
}

TEST_F(ControllerDiskTest, AFullDiskRefusesJobsUntilItHasSpace) {
  disk_.FillUp();

  const auto refused = controller_->api().CreateJob("default", Job("job"), std::nullopt);

  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().disk_full);
  EXPECT_THAT(refused.error().message, HasSubstr(data_path()));
  EXPECT_THAT(refused.error().message, HasSubstr("free space"));
  EXPECT_THAT(controller_->api().CheckReady().error().message, HasSubstr("disk is full"));
  EXPECT_FALSE(controller_->api().CreateCluster(
      "default", {{"apiVersion", "eidolon.dev/v1alpha1"},
                  {"kind", "SimulatedCluster"},
                  {"metadata", {{"name", "pod"}}},
                  {"spec", {{"servers", 1}, {"server", {{"preset", "dgx-a100"}}}}}}));
  EXPECT_TRUE(controller_->api().ListJobs("")->empty());
  disk_.Heal();
  EXPECT_TRUE(AwaitReady(true));
  Create(Job("job"));
  EXPECT_EQ(AwaitEnd("job")["status"]["phase"], "Complete");
}

TEST_F(ControllerDiskTest, ABrokenDiskIsUnavailableNotFull) {
  disk_.FailWrites();

  const auto refused = controller_->api().CreateJob("default", Job("job"), std::nullopt);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable);
  EXPECT_FALSE(refused.error().disk_full);
  EXPECT_THAT(refused.error().message, HasSubstr("disk I/O error"));
  disk_.Heal();
  EXPECT_TRUE(AwaitReady(true));
}

TEST_F(ControllerDiskTest, ARepeatedRequestAfterAnUnknownResultCreatesNoSecondJob) {
  json document = Job("");
  document["metadata"] = {{"generateName", "job-"}};
  const rest::IdempotencyKey key = {"k", "digest"};
  disk_.FailSyncs(1);
  auto created = controller_->api().CreateJob("default", document, key);
  ASSERT_TRUE(AwaitReady(true));

  const auto repeated = controller_->api().CreateJob("default", document, key);

  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_EQ(repeated->repeated, created.has_value());
  EXPECT_EQ(controller_->api().ListJobs("")->size(), 1u);
  ASSERT_TRUE(Close());
  Open();
  EXPECT_EQ(controller_->api().ListJobs("")->size(), 1u);
}

TEST_F(ControllerDiskTest, RequestsOfOneKeyAtATimeCreateOneJob) {
  json document = Job("");
  document["metadata"] = {{"generateName", "job-"}};
  const rest::IdempotencyKey key = {"k", "digest"};
  disk_.Hang();
  const auto create = [&] { return controller_->api().CreateJob("default", document, key); };
  auto first = std::async(std::launch::async, create);
  ASSERT_TRUE(AwaitThat([&] { return disk_.hanging() > 0; }));
  auto second = std::async(std::launch::async, create);
  Pause(100ms);
  disk_.Heal();

  const auto one = first.get();
  const auto other = second.get();

  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->object["metadata"]["uid"], other->object["metadata"]["uid"]);
  EXPECT_TRUE(other->repeated);
  EXPECT_EQ(controller_->api().ListJobs("")->size(), 1u);
}

TEST_F(ControllerDiskTest, ReadersDoNotWaitForADiskThatHangs) {
  Create(Job("job"));
  AwaitEnd("job");
  disk_.Hang();
  auto writer = std::async(std::launch::async, [&] {
    return controller_->api().CreateJob("default", Job("other"), std::nullopt);
  });
  ASSERT_TRUE(AwaitThat([&] { return disk_.hanging() > 0; }));

  // With the disk in the way none of these would come back before it is healed.
  EXPECT_EQ(Get("job")["status"]["phase"], "Complete");
  EXPECT_EQ(controller_->api().ListJobs("")->size(), 1u);
  EXPECT_THAT(MetricsOf(), HasSubstr("eidolon_controller_"));
  const auto refused = writer.get();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is not known yet"));
  EXPECT_TRUE(AwaitReady(false));

  disk_.Heal();

  EXPECT_TRUE(AwaitReady(true));
  EXPECT_EQ(AwaitEnd("other")["status"]["phase"], "Complete");
}

TEST_F(ControllerDiskTest, ADeletionIsRepeatedUntilItIsStored) {
  Create(Job("job"));
  AwaitEnd("job");
  disk_.FillUp();

  const auto accepted = controller_->api().DeleteJob({"default", "job"});

  ASSERT_TRUE(accepted);
  EXPECT_TRUE(accepted->at("metadata").contains("deletionTimestamp"));
  EXPECT_TRUE(Get("job")["metadata"].contains("deletionTimestamp"));
  disk_.Heal();
  EXPECT_TRUE(AwaitThat([&] { return !controller_->api().GetJob({"default", "job"}); }));
  ASSERT_TRUE(Close());
  Open();
  EXPECT_FALSE(controller_->api().GetJob({"default", "job"}));
}

TEST_F(ControllerDiskTest, ASuspensionThatCannotBeStoredChangesNothing) {
  json document = Job("job");
  document["spec"]["suspend"] = true;
  Create(document);
  disk_.FillUp();

  const auto refused = controller_->api().SetSuspend({"default", "job"}, false);

  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().disk_full);
  EXPECT_EQ(Get("job")["spec"]["suspend"], true);
  EXPECT_EQ(Get("job")["status"]["phase"], "Pending");
  disk_.Heal();
  ASSERT_TRUE(AwaitReady(true));
  ASSERT_TRUE(controller_->api().SetSuspend({"default", "job"}, false));
  EXPECT_EQ(AwaitEnd("job")["status"]["phase"], "Complete");
}

TEST_F(ControllerDiskTest, AChangeOfASweepThatCannotBeStoredChangesNothing) {
  rest::SweepApi& sweeps = controller_->api().sweeps();
  json document = {
      {"apiVersion", "eidolon.dev/v1alpha1"},
      {"kind", "SimulationSweep"},
      {"metadata", {{"name", "s"}}},
      {"spec", {{"job", Job("x")["spec"]}, {"matrix", {{"env.N", {1}}}}, {"suspend", true}}}};
  ASSERT_TRUE(sweeps.CreateSweep("default", document));
  const auto is_planned = [&] {
    return (*sweeps.GetSweep({"default", "s"}))["status"].contains("points");
  };
  ASSERT_TRUE(AwaitThat(is_planned));
  disk_.FillUp();

  const auto refused = sweeps.PatchSweep({"default", "s"}, {{"spec", {{"suspend", false}}}});

  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().disk_full);
  EXPECT_EQ((*sweeps.GetSweep({"default", "s"}))["spec"]["suspend"], true);
  disk_.Heal();
  ASSERT_TRUE(AwaitReady(true));
  ASSERT_TRUE(sweeps.PatchSweep({"default", "s"}, {{"spec", {{"suspend", false}}}}));
  EXPECT_TRUE(AwaitThat([&] {
    return (*sweeps.GetSweep({"default", "s"}))["status"]["phase"] == "Complete";
  }));
}

TEST_F(ControllerDiskTest, WaitingJobsDoNotBeginWhileTheStoreCannotBeWritten) {
  CreateAndHold("job");
  Create(Job("next"));
  disk_.FillUp();
  go_.count_down();
  AwaitWaiting("job");

  // It was Queued, and its turn comes when the other one has ended.
  EXPECT_TRUE(AwaitThat([&] {
    return FindCondition(Get("next"), "Scheduled").value("reason", "") == "WaitingForStore";
  })) << Get("next").dump(1);
  EXPECT_EQ(Get("next")["status"]["phase"], "Pending");
  EXPECT_EQ(placement_.started(), 2u);

  disk_.Heal();

  EXPECT_EQ(AwaitEnd("next")["status"]["phase"], "Complete");
}

}  // namespace
}  // namespace eidolon::controller::embedded
