#include "services/controller/reconcile/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::controller::reconcile {
namespace {

std::vector<std::string> Granted(const std::map<std::string, Admission>& admissions) {
  std::vector<std::string> keys;
  for (const auto& [key, admission] : admissions) {
    if (admission.granted) keys.push_back(key);
  }
  return keys;
}

TEST(AdmissionTest, OldestJobsComeFirst) {
  const auto admissions = ComputeAdmissions({{"c", "n", "3"}, {"a", "n", "1"}, {"b", "n", "2"}}, 2);

  EXPECT_THAT(Granted(admissions), ::testing::ElementsAre("a", "b"));
}

TEST(AdmissionTest, ANamespaceWithFewJobsIsNotHeldUpByOneWithMany) {
  std::vector<QueuedJob> jobs;
  for (char c = 'a'; c < 'k'; ++c) jobs.push_back({std::string("many-") + c, "many", "1"});
  jobs.push_back({"few-1", "few", "2"});
  jobs.push_back({"other-1", "other", "3"});

  const auto admissions = ComputeAdmissions(jobs, 3);

  EXPECT_THAT(Granted(admissions), ::testing::ElementsAre("few-1", "many-a", "other-1"));
}

TEST(AdmissionTest, ActiveJobsStayAdmittedAndFillTheLimit) {
  const auto admissions = ComputeAdmissions({{"old", "n", "1"}, {"active", "n", "9", true}}, 1);

  EXPECT_THAT(Granted(admissions), ::testing::ElementsAre("active"));
  EXPECT_EQ(admissions.at("old").running, 1u);
}

TEST(AdmissionTest, WhoWaitsForOthersDoesNotWaitForAdmission) {
  const auto job = [](const char* status, const char* why) {
    return nlohmann::json{
        {"spec", {{"clusterRef", {{"name", "pod"}}}}},
        {"status",
         {{"conditions", {{{"type", "Scheduled"}, {"status", status}, {"reason", why}}}}}}};
  };
  for (const char* why : {"ClusterNotFound", "WaitingForServices", "AdmissionUnavailable"}) {
    EXPECT_FALSE(WaitsForAdmission(job("False", why))) << why;
    nlohmann::json alone = job("False", why);
    alone["spec"] = {{"cluster", nlohmann::json::object()}};
    EXPECT_TRUE(WaitsForAdmission(alone)) << "its services are made when it is admitted";
  }
  EXPECT_TRUE(WaitsForAdmission(job("False", "Queued")));
  EXPECT_TRUE(WaitsForAdmission(job("False", "PodEvicted")));
  EXPECT_TRUE(WaitsForAdmission(job("True", "Placed")));
  EXPECT_TRUE(WaitsForAdmission({{"spec", {{"clusterRef", {{"name", "pod"}}}}}})) << "it is new";
}

TEST(AdmissionTest, SaysHowManyJobsComeBefore) {
  const auto admissions = ComputeAdmissions({{"a", "n", "1"}, {"b", "n", "2"}, {"c", "n", "3"}}, 1);

  EXPECT_EQ(admissions.at("b").before, 0u);
  EXPECT_EQ(admissions.at("c").before, 1u);
}

}  // namespace
}  // namespace eidolon::controller::reconcile
