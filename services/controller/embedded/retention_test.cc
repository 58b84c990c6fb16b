// Tests what a controller keeps of jobs that are over, and when it accepts no more.
#include "services/controller/embedded/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "services/controller/embedded/controller_fixture_test.h"
#include "services/controller/rest/problem_response.h"
#include "services/controller/store/database.h"
#include "services/controller/store/store_schema.h"

namespace eidolon::controller::embedded {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::chrono_literals::operator""ms;

class RetentionTest : public ControllerTest {
 protected:
  void RunAll(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      Create(Job(name));
      ASSERT_EQ(AwaitEnd(name)["status"]["phase"], "Complete");
    }
  }
  void Reopen(const RetentionOptions& retention) {
    ASSERT_TRUE(Close());
    retention_ = retention;
    Open();
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    const auto jobs = controller_->api().ListJobs("");
    for (const json& job : *jobs) {
      found.push_back(job["metadata"]["name"]);
    }
    return found;
  }
  static bool AwaitThat(const std::function<bool()>& done) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable never;
    for (int i = 0; i < 3000; ++i) {
      if (done()) return true;
      never.wait_for(lock, 10ms);
    }
    return false;
  }
  std::string log_path(int uid) const {
    return data_path() + "/logs/" + std::to_string(uid) + ".log";
  }
  void Fill(int uid, std::size_t bytes) {
    std::ofstream(log_path(uid)) << std::string(bytes, '\n');
  }
};

TEST_F(RetentionTest, TheOldestFinishedJobsGoFirstWithTheirLogs) {
  RunAll({"a", "b", "c"});
  json waiting = Job("waiting");
  waiting["spec"]["suspend"] = true;
  Create(waiting);
  ASSERT_TRUE(std::filesystem::exists(log_path(1)));

  Reopen({.keep_jobs = 2});

  EXPECT_TRUE(AwaitThat([&] { return names().size() == 3; }));
  EXPECT_THAT(names(), ElementsAre("b", "c", "waiting"));
  EXPECT_FALSE(std::filesystem::exists(log_path(1)));
  EXPECT_TRUE(std::filesystem::exists(log_path(2)));
}

TEST_F(RetentionTest, JobsThatEndedLongAgoGo) {
  RunAll({"old", "new"});
  ASSERT_TRUE(Close());
  {
    auto database = store::Database::Open(data_path() + "/jobs.db");
    ASSERT_TRUE(database->Execute(
        "UPDATE jobs SET status = json_set(status, '$.completionTime', '2020-01-01T00:00:00Z') "
        "WHERE name = 'old'"));
    ASSERT_TRUE(store::Seal(&*database, store::kJobs, store::kJobParts, "uid >= ?", 0));
  }
  retention_ = {.keep_days = 30};
  Open();

  EXPECT_TRUE(AwaitThat([&] { return names().size() == 1; }));
  EXPECT_THAT(names(), ElementsAre("new"));
}

TEST_F(RetentionTest, JobsOfASweepThatGoesOnStay) {
  Reopen({.keep_jobs = 1});
  const json document = {
      {"apiVersion", "eidolon.dev/v1alpha1"},
      {"kind", "SimulationSweep"},
      {"metadata", {{"name", "s"}}},
      {"spec", {{"job", Job("x")["spec"]}, {"matrix", {{"env.N", {"1", "2", "3", "4"}}}}}}};

  ASSERT_TRUE(controller_->api().sweeps().CreateSweep("default", document));

  EXPECT_TRUE(AwaitThat([&] {
    return (*controller_->api().sweeps().GetSweep({"default", "s"}))["status"]["phase"] ==
           "Complete";
  }));
  EXPECT_TRUE(AwaitThat([&] { return names().size() == 1; }));
  EXPECT_EQ(placement_.started(), 8u) << "a job of the sweep was removed, and made again";
}

TEST_F(RetentionTest, OverTheQuotaTheOldestOutputsGoAndPredictionsStay) {
  RunAll({"a", "b"});
  Fill(1, 16 << 20);
  Fill(2, 16 << 20);

  Reopen({.data_bytes_max = 32 << 20});

  EXPECT_TRUE(AwaitThat([&] { return !std::filesystem::exists(log_path(1)); }));
  EXPECT_TRUE(AwaitThat([&] {
    return (*controller_->api().GetJob({"default", "a"}))["status"].contains("warnings");
  }));
  const json a = *controller_->api().GetJob({"default", "a"});
  EXPECT_THAT(a["status"]["warnings"].dump(), HasSubstr("within --data-quota"));
  EXPECT_TRUE(a["status"].contains("prediction"));
  EXPECT_TRUE(std::filesystem::exists(log_path(2)));
  Create(Job("next"));
  EXPECT_EQ(AwaitEnd("next")["status"]["phase"], "Complete");
  // It is stored, and said once.
  Reopen({.data_bytes_max = 32 << 20});
  EXPECT_EQ((*controller_->api().GetJob({"default", "a"}))["status"]["warnings"],
            a["status"]["warnings"]);
}

TEST_F(RetentionTest, AFolderThatStaysOverItsQuotaTakesNoJobs) {
  RunAll({"a"});
  std::ofstream(data_path() + "/elsewhere") << std::string(40 << 20, 'x');

  Reopen({.data_bytes_max = 32 << 20});

  rest::ApiResult<rest::Created> refused;
  EXPECT_TRUE(AwaitThat([&] {
    json document = Job("");
    document["metadata"] = {{"generateName", "job-"}};
    refused = controller_->api().CreateJob("default", document, std::nullopt);
    if (!refused) return refused.error().over_quota;
    return false;
  }));
  ASSERT_FALSE(refused);
  EXPECT_EQ(rest::StatusOf(refused.error()), 507);
  EXPECT_THAT(refused.error().message, HasSubstr("more than its quota of 32.0 MiB"));
  EXPECT_THAT(refused.error().message, HasSubstr("--data-quota"));
  const json problem = rest::ToProblem(refused.error(), 507, "/");
  EXPECT_EQ(problem["type"], "https://eidolon.dev/problems/data-quota");
  std::filesystem::remove(data_path() + "/elsewhere");
  EXPECT_TRUE(AwaitThat([&] {
    return controller_->api().CreateJob("default", Job("next"), std::nullopt).has_value();
  }));
}

TEST_F(RetentionTest, AJobThatPrintsALotKeepsBothEndsOfItsLog) {
  placement_.SetScript([](FakeAgent& agent) {
    for (int i = 0; agent.server() == 0 && i < 30'000; ++i) {
      agent.Print(std::to_string(i) + std::string(100, '.'));
    }
    return IterateAndStop(agent);
  });
  json document = Job("job");
  document["spec"]["limits"]["logBytes"] = 1 << 20;
  Create(document);

  const json job = AwaitEnd("job");

  EXPECT_EQ(job["status"]["phase"], "Complete");
  EXPECT_THAT(job["status"]["warnings"].dump(), HasSubstr("left out of the log"));
  EXPECT_LE(std::filesystem::file_size(log_path(1)), 1u << 19);
  std::vector<std::string> lines;
  for (std::uint64_t offset = 0;;) {
    const auto part = controller_->api().ReadLog({"default", "job"}, offset, 0ms);
    ASSERT_TRUE(part);
    for (const auto& entry : part->entries) lines.push_back(entry.text);
    if (part->ended) break;
    offset = part->next_offset;
  }
  EXPECT_TRUE(lines.front().starts_with("0."));
  EXPECT_TRUE(lines.back().starts_with("29999."));
  EXPECT_EQ(std::ranges::count_if(
                lines, [](const std::string& line) { return line.starts_with("[eidolon: "); }),
            1);
}

}  // namespace
}  // namespace eidolon::controller::embedded
