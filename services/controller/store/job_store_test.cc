#include "services/controller/store/job_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "services/base/random.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

StoredJob Job(const std::string& name) {
  return {.name_space = "default",
          .name = name,
          .created_unix_ns = 7,
          .document = R"({"spec": {}})",
          .status = R"({"phase": "Pending"})"};
}

TEST(JobStoreTest, KeepsJobsAcrossOpening) {
  const testing::TemporaryDirectory root;
  {
    auto store = JobStore::Open(root / "jobs.db");
    ASSERT_TRUE(store) << store.error().message;
    const auto created = store->CreateJob(Job("a"), std::nullopt);
    ASSERT_TRUE(created);
    ASSERT_TRUE(store->SaveStatus(created->uid, "{}", Durability::kPower));
  }

  auto store = JobStore::Open(root / "jobs.db");
  const auto jobs = store->LoadJobs();

  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front().name, "a");
  EXPECT_EQ(jobs->front().status, "{}");
  EXPECT_EQ(jobs->front().version, 2);
}

TEST(JobStoreTest, RefusesASecondJobOfTheSameName) {
  const testing::TemporaryDirectory root;
  auto store = JobStore::Open(root / "jobs.db");
  ASSERT_TRUE(store->CreateJob(Job("a"), std::nullopt));

  const auto second = store->CreateJob(Job("a"), std::nullopt);

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
  StoredJob elsewhere = Job("a");
  elsewhere.name_space = "other";
  EXPECT_TRUE(store->CreateJob(elsewhere, std::nullopt));
}

TEST(JobStoreTest, NeverGivesTheNumberOfADeletedJobToAnother) {
  const testing::TemporaryDirectory root;
  auto store = JobStore::Open(root / "jobs.db");
  const auto first = store->CreateJob(Job("a"), std::nullopt)->uid;
  ASSERT_TRUE(store->DeleteJob(first));

  EXPECT_GT(store->CreateJob(Job("b"), std::nullopt)->uid, first);
}

TEST(JobStoreTest, RemembersARequestAsLongAsItsJob) {
  const testing::TemporaryDirectory root;
  auto store = JobStore::Open(root / "jobs.db");
  const auto job = store->CreateJob(Job("a"), IdempotentRequest{"default", "key", "digest"});

  const auto found = store->LoadRequests();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().uid, job->uid);
  EXPECT_EQ(found->front().request.name_space, "default");
  EXPECT_EQ(found->front().request.key, "key");
  EXPECT_EQ(found->front().request.body_digest, "digest");

  ASSERT_TRUE(store->DeleteJob(job->uid));
  EXPECT_TRUE(store->LoadRequests()->empty());
}

TEST(JobStoreTest, KeepsClusters) {
  const testing::TemporaryDirectory root;
  auto store = JobStore::Open(root / "jobs.db");
  ASSERT_TRUE(store->CreateCluster({"default", "pod", 1, "{}"}));

  EXPECT_EQ(store->CreateCluster({"default", "pod", 1, "{}"}).error().code,
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(store->LoadClusters()->size(), 1u);
  ASSERT_TRUE(store->DeleteCluster("default", "pod"));
  EXPECT_TRUE(store->LoadClusters()->empty());
}

TEST(JobStoreTest, RefusesAFileThatIsNoDatabase) {
  const testing::TemporaryDirectory root;
  std::ofstream(root / "jobs.db") << std::string(4096, 'x');

  const auto store = JobStore::Open(root / "jobs.db");

  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(store.error().message, HasSubstr("jobs.db"));
}

TEST(JobStoreTest, RefusesAFileOfANewerVersion) {
  const testing::TemporaryDirectory root;
  {
    auto database = Database::Open(root / "jobs.db");
    ASSERT_TRUE(database->Execute("PRAGMA user_version=99"));
  }

  const auto store = JobStore::Open(root / "jobs.db");

  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("schema version 99"));
}

// Version 2 made this schema.
constexpr char kVersion2[] = R"(
CREATE TABLE jobs (
  uid INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, name TEXT NOT NULL,
  created_unix_ns INTEGER NOT NULL, version INTEGER NOT NULL, document TEXT NOT NULL,
  status TEXT NOT NULL, UNIQUE (namespace, name));
CREATE TABLE requests (
  namespace TEXT NOT NULL, key TEXT NOT NULL, body_digest TEXT NOT NULL,
  uid INTEGER NOT NULL REFERENCES jobs (uid) ON DELETE CASCADE, PRIMARY KEY (namespace, key));
CREATE TABLE clusters (
  namespace TEXT NOT NULL, name TEXT NOT NULL, created_unix_ns INTEGER NOT NULL,
  document TEXT NOT NULL, PRIMARY KEY (namespace, name));
CREATE TABLE sweeps (
  uid INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, name TEXT NOT NULL,
  created_unix_ns INTEGER NOT NULL, document TEXT NOT NULL, status TEXT NOT NULL,
  UNIQUE (namespace, name));
INSERT INTO jobs VALUES (7, 'default', 'old', 1, 3, '{"spec": {}}', '{"seconds": 0.125}');
INSERT INTO requests VALUES ('default', 'key', 'digest', 7);
INSERT INTO clusters VALUES ('default', 'pod', 1, '{}');
INSERT INTO sweeps VALUES (2, 'default', 's', 1, '{}', '{}');
PRAGMA user_version=2)";

TEST(JobStoreTest, AFileOfTheVersionWithoutChecksumsGetsThem) {
  const testing::TemporaryDirectory root;
  ASSERT_TRUE(Database::Open(root / "jobs.db")->Execute(kVersion2));
  {
    auto store = JobStore::Open(root / "jobs.db");
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(store->LoadJobs()->at(0).uid, 7);
    EXPECT_EQ(store->LoadJobs()->at(0).damage, "");
    EXPECT_EQ(store->LoadRequests()->size(), 1u);
    EXPECT_EQ(store->LoadClusters()->at(0).damage, "");
    EXPECT_EQ(store->LoadSweeps()->at(0).damage, "");
  }
  ASSERT_TRUE(
      Database::Open(root / "jobs.db")->Execute("UPDATE jobs SET status = '{\"seconds\": 0.135}'"));

  auto store = JobStore::Open(root / "jobs.db");

  EXPECT_EQ(store->LoadJobs()->at(0).damage, "the checksum of its status does not match");
}

TEST(JobStoreTest, ADamagedRecordIsKeptWhenAWriteTakesItsPlace) {
  const testing::TemporaryDirectory root;
  {
    auto store = JobStore::Open(root / "jobs.db");
    ASSERT_TRUE(store->CreateJob(Job("a"), std::nullopt));
  }
  ASSERT_TRUE(Database::Open(root / "jobs.db")->Execute("UPDATE jobs SET status = 'spoilt'"));
  auto store = JobStore::Open(root / "jobs.db");

  ASSERT_TRUE(store->SaveStatus(1, "{}", Durability::kProcess));

  EXPECT_EQ(store->LoadJobs()->at(0).damage, "");
  std::ifstream copy(root / "damaged/job-1.txt");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(copy), {}), HasSubstr("spoilt"));
}

TEST(JobStoreTest, AWriteOfTheStatusDoesNotHideDamageOfTheDocument) {
  const testing::TemporaryDirectory root;
  {
    auto store = JobStore::Open(root / "jobs.db");
    ASSERT_TRUE(store->CreateJob(Job("a"), std::nullopt));
  }
  ASSERT_TRUE(Database::Open(root / "jobs.db")->Execute("UPDATE jobs SET document = '{}'"));
  auto store = JobStore::Open(root / "jobs.db");

  ASSERT_TRUE(store->SaveStatus(1, "{}", Durability::kPower));

  EXPECT_EQ(store->LoadJobs()->at(0).damage, "the checksum of its document does not match");
}

// The child of the kill test: creates jobs and moves each through its life, and tells over the pipe
// what the store has acknowledged, as lines "<name> <state>".
[[noreturn]] void WriteJobsForEver(const std::string& path, int round, int out) {
  auto store = JobStore::Open(path);
  if (!store) _exit(1);
  for (int i = 0;; ++i) {
    const std::string name = "job-" + std::to_string(round) + "-" + std::to_string(i);
    const auto job = store->CreateJob(Job(name), std::nullopt);
    if (!job) _exit(2);
    dprintf(out, "%s 0\n", name.c_str());
    for (int state = 1; state <= 3; ++state) {
      const auto durability = state == 2 ? Durability::kProcess : Durability::kPower;
      if (!store->SaveStatus(job->uid, std::to_string(state), durability)) _exit(3);
      dprintf(out, "%s %d\n", name.c_str(), state);
    }
  }
}

TEST(JobStoreTest, LosesNothingAcknowledgedWhenKilledAtAnyMoment) {
  const testing::TemporaryDirectory root;
  const std::string path = root / "jobs.db";
  base::Random random(20261121);
  std::map<std::string, int> acknowledged;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      WriteJobsForEver(path, round, ends[1]);
    }
    close(ends[1]);
    FILE* lines = fdopen(ends[0], "r");
    const auto kill_after = 1 + random.Below(40);
    char name[64];
    int state = 0;
    for (std::uint64_t line = 0; std::fscanf(lines, "%63s %d", name, &state) == 2; ++line) {
      acknowledged[name] = state;
      if (line == kill_after) kill(child, SIGKILL);
    }
    std::fclose(lines);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);

    auto store = JobStore::Open(path);
    ASSERT_TRUE(store) << store.error().message;
    std::map<std::string, std::string> found;
    for (const StoredJob& job : *store->LoadJobs()) found[job.name] = job.status;
    for (const auto& [job, last] : acknowledged) {
      ASSERT_TRUE(found.contains(job)) << job << " is lost";
      EXPECT_TRUE(last == 0 || std::atoi(found[job].c_str()) >= last) << job;
    }
  }
}

TEST(JobStoreTest, KeepsSweepsAlsoInAFileThatHadNone) {
  const testing::TemporaryDirectory root;
  {
    auto store = JobStore::Open(root / "jobs.db");
    ASSERT_TRUE(store->CreateJob(Job("a"), std::nullopt));
  }
  {
    auto database = Database::Open(root / "jobs.db");
    ASSERT_TRUE(
        database->Execute("DROP TABLE sweeps;"
                          "ALTER TABLE jobs DROP COLUMN document_checksum;"
                          "ALTER TABLE jobs DROP COLUMN status_checksum;"
                          "ALTER TABLE requests DROP COLUMN checksum;"
                          "ALTER TABLE clusters DROP COLUMN checksum;"
                          "PRAGMA user_version=1"));
  }
  const StoredSweep sweep = {
      .name_space = "default", .name = "s", .created_unix_ns = 3, .document = "{}", .status = "{}"};
  {
    auto store = JobStore::Open(root / "jobs.db");
    ASSERT_TRUE(store) << store.error().message;
    const auto uid = store->CreateSweep(sweep);
    ASSERT_TRUE(uid) << uid.error().message;
    EXPECT_EQ(store->CreateSweep(sweep).error().code, ErrorCode::kAlreadyExists);
    ASSERT_TRUE(store->SaveSweep(*uid, R"({"spec": {}})", R"({"phase": "Running"})"));
    ASSERT_TRUE(store->SaveSweepDocument(*uid, R"({"spec": {"suspend": true}})"));
  }

  auto store = JobStore::Open(root / "jobs.db");
  const auto sweeps = store->LoadSweeps();

  ASSERT_EQ(sweeps->size(), 1u);
  EXPECT_EQ(sweeps->front().status, R"({"phase": "Running"})");
  EXPECT_EQ(sweeps->front().document, R"({"spec": {"suspend": true}})");
  EXPECT_EQ(store->LoadJobs()->size(), 1u);
  ASSERT_TRUE(store->DeleteSweep(sweeps->front().uid));
  EXPECT_TRUE(store->LoadSweeps()->empty());
}

}  // namespace
}  // namespace eidolon::controller::store
