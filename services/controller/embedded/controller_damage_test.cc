// Tests what users see of records that a disk has damaged: that they are, and nothing of what they
// hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/controller/embedded/controller_fixture_test.h"
#include "services/controller/store/database.h"

namespace eidolon::controller::embedded {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ControllerDamageTest : public ControllerTest {
 protected:
  // Damages it behind the controller's back.
  void CloseDamageAndOpen(const std::string& sql) {
    ASSERT_TRUE(Close());
    ASSERT_TRUE(store::Database::Open(data_path() + "/jobs.db")->Execute(sql));
    Open();
  }
  json Get(const std::string& name) { return *controller_->api().GetJob({"default", name}); }
  static json Suspended(const std::string& name) {
    json document = Job(name);
    document["spec"]["suspend"] = true;
    return document;
  }
};

TEST_F(ControllerDamageTest, AChangedDigitIsNotServedAsAPrediction) {
  Create(Job("job"));
  ASSERT_TRUE(AwaitEnd("job")["status"].contains("prediction"));
  Create(Suspended("other"));

  CloseDamageAndOpen("UPDATE jobs SET status = replace(status, '1', '2') WHERE name = 'job'");

  const json job = Get("job");
  EXPECT_EQ(job["status"]["phase"], "Failed");
  EXPECT_FALSE(job["status"].contains("prediction"));
  EXPECT_EQ(LastCondition(job)["reason"], "RecordDamaged");
  const std::string message = LastCondition(job)["message"];
  EXPECT_THAT(message, HasSubstr("record job 1 is damaged: the checksum of its status"));
  EXPECT_THAT(message, HasSubstr("eidolon doctor --store " + data_path() + " --repair"));
  EXPECT_EQ(controller_->api().ListJobs("default")->size(), 2u);
  // The others go on.
  ASSERT_TRUE(controller_->api().SetSuspend({"default", "other"}, false));
  EXPECT_EQ(AwaitEnd("other")["status"]["phase"], "Complete");
  // The record itself stays as it is.
  ASSERT_TRUE(Close());
  Open();
  EXPECT_EQ(LastCondition(Get("job"))["reason"], "RecordDamaged");
}

TEST_F(ControllerDamageTest, ADamagedStatusDoesNotMakeAJobPendingAgain) {
  Create(Job("job"));
  AwaitEnd("job");
  const auto started = placement_.started();

  CloseDamageAndOpen("UPDATE jobs SET status = '{\"conditi'");
  Create(Job("next"));
  AwaitEnd("next");

  EXPECT_EQ(Get("job")["status"]["phase"], "Failed");
  EXPECT_EQ(placement_.started(), started + 2) << "the damaged job ran again";
}

TEST_F(ControllerDamageTest, AJobWithADamagedDocumentIsListedAndDeleted) {
  Create(Suspended("job"));

  CloseDamageAndOpen("UPDATE jobs SET name = 'j' || char(255) || 'b', document = 'x'");

  const auto jobs = controller_->api().ListJobs("");
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front()["metadata"]["name"], "damaged-job-1");
  EXPECT_EQ(LastCondition(jobs->front())["reason"], "RecordDamaged");
  EXPECT_FALSE(controller_->api().SetSuspend({"default", "damaged-job-1"}, false));
  ASSERT_TRUE(controller_->api().DeleteJob({"default", "damaged-job-1"}));
  EXPECT_TRUE(controller_->api().ListJobs("")->empty());
}

TEST_F(ControllerDamageTest, ADamagedClusterIsUsedByNoJob) {
  json job = Job("job");
  const json cluster = {{"apiVersion", "eidolon.dev/v1alpha1"},
                        {"kind", "SimulatedCluster"},
                        {"metadata", {{"name", "pod"}}},
                        {"spec", job["spec"]["cluster"]}};
  ASSERT_TRUE(controller_->api().CreateCluster("default", cluster));
  job["spec"].erase("cluster");
  job["spec"]["clusterRef"] = {{"name", "pod"}};

  CloseDamageAndOpen("UPDATE clusters SET document = replace(document, 'H100', 'H200')");

  const auto refused = controller_->api().CreateJob("default", job, std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("cluster 'pod' is damaged"));
  EXPECT_THAT(controller_->api().GetCluster({"default", "pod"})->dump(), HasSubstr("checksum"));
  EXPECT_TRUE(controller_->api().DeleteCluster({"default", "pod"}));
  EXPECT_TRUE(controller_->api().CreateCluster("default", cluster));
}

TEST_F(ControllerDamageTest, ADamagedSweepStandsStillAndIsDeleted) {
  rest::SweepApi& sweeps = controller_->api().sweeps();
  const json document = {
      {"apiVersion", "eidolon.dev/v1alpha1"},
      {"kind", "SimulationSweep"},
      {"metadata", {{"name", "s"}}},
      {"spec", {{"job", Job("x")["spec"]}, {"matrix", {{"env.N", {1}}}}, {"suspend", true}}}};
  ASSERT_TRUE(sweeps.CreateSweep("default", document));

  CloseDamageAndOpen("UPDATE sweeps SET document = replace(document, 'env.N', 'env.M')");

  rest::SweepApi& later = controller_->api().sweeps();
  EXPECT_EQ((*later.GetSweep({"default", "s"}))["status"]["conditions"].back()["reason"],
            "RecordDamaged");
  EXPECT_FALSE(later.PatchSweep({"default", "s"}, {{"spec", {{"suspend", false}}}}));
  ASSERT_TRUE(later.DeleteSweep({"default", "s"}));
  EXPECT_TRUE(later.ListSweeps("")->empty());
}

}  // namespace
}  // namespace eidolon::controller::embedded
