#include "services/controller/store/store_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/controller/store/data_directory.h"
#include "services/controller/store/database.h"
#include "services/controller/store/job_store.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;
using State = StoreFinding::State;
namespace fs = std::filesystem;

constexpr char kStatus[] =
    R"({"conditions": [{"type": "Accepted", "status": "True"}], "seconds": 0.125})";

// A data folder whose files a test may damage between two openings of its store.
class StoreCheckTest : public ::testing::Test {
 protected:
  StoreCheckTest() { EXPECT_TRUE(DataDirectory::Open(root_.path())); }

  std::string path() const { return root_ / "jobs.db"; }
  JobStore Open() {
    auto store = JobStore::Open(path());
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  static StoredJob Job(const std::string& name, const std::string& text = "") {
    return {.name_space = "default",
            .name = name,
            .created_unix_ns = 7,
            .document = R"({"metadata": {}, "spec": {"text": ")" + text + "\"}}",
            .status = kStatus};
  }
  void Create(const std::string& name, const std::string& text = "") {
    ASSERT_TRUE(Open().CreateJob(Job(name, text), std::nullopt));
  }
  // Changes the file as a bad disk would. `which`: occurrences to leave alone.
  void Overwrite(const std::string& from, const std::string& to, int which = 0) {
    fs::remove(path() + "-wal");  // It was moved into the file when that was closed.
    std::ifstream in(path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    std::size_t at = bytes.find(from);
    while (which-- > 0) at = bytes.find(from, at + 1);
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, to.size(), to);
    std::ofstream(path(), std::ios::binary) << bytes;
  }
  std::vector<StoreFinding> Check(bool repair = false) {
    auto findings = CheckStore({.folder = root_.path(), .repair = repair});
    EXPECT_TRUE(findings) << findings.error().message;
    return findings ? *findings : std::vector<StoreFinding>();
  }
  static std::vector<StoreFinding> Of(const std::vector<StoreFinding>& findings, State state) {
    std::vector<StoreFinding> found;
    std::ranges::copy_if(findings, std::back_inserter(found),
                         [&](const StoreFinding& finding) { return finding.state == state; });
    return found;
  }
  std::string ReadBack(const std::string& name) const {
    std::ifstream in(root_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  testing::TemporaryDirectory root_;
};

TEST_F(StoreCheckTest, AnIntactStoreHasNoDamage) {
  Create("a");

  const auto findings = Check();

  EXPECT_TRUE(Of(findings, State::kDamaged).empty());
  EXPECT_THAT(findings.at(1).text, HasSubstr("1 of 1 intact"));
}

TEST_F(StoreCheckTest, OneChangedDigitIsFoundAndNamed) {
  Create("a");
  Create("b");
  Overwrite("0.125", "0.135");

  const auto damaged = Of(Check(), State::kDamaged);

  ASSERT_EQ(damaged.size(), 1u);
  EXPECT_THAT(damaged[0].text, HasSubstr("the checksum of its status does not match"));
  const auto jobs = Open().LoadJobs();
  EXPECT_EQ(std::ranges::count_if(*jobs, [](const auto& job) { return !job.damage.empty(); }), 1);
}

TEST_F(StoreCheckTest, RepairMovesADamagedRecordAsideAndKeepsTheOthers) {
  Create("a");
  Create("b");
  std::ofstream(root_ / "logs/1.log") << "0\t1\t0\tone\n";
  ASSERT_TRUE(Database::Open(path())->Execute("UPDATE jobs SET status = '{}' WHERE uid = 1"));

  const auto repaired = Of(Check(/*repair=*/true), State::kRepaired);

  ASSERT_EQ(repaired.size(), 1u);
  EXPECT_EQ(repaired[0].subject, "job 1 (default/a)");
  EXPECT_THAT(ReadBack("damaged/job-1.txt"), HasSubstr("--- status\n{}\n"));
  EXPECT_THAT(ReadBack("damaged/job-1.log"), HasSubstr("one"));
  EXPECT_TRUE(Of(Check(), State::kDamaged).empty());
  const auto jobs = Open().LoadJobs();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front().name, "b");
}

TEST_F(StoreCheckTest, EveryKindOfRecordIsChecked) {
  {
    JobStore store = Open();
    ASSERT_TRUE(store.CreateJob(Job("a"), IdempotentRequest{"default", "key", "digest"}));
    ASSERT_TRUE(store.CreateCluster({.name_space = "default",
                                     .name = "pod",
                                     .created_unix_ns = 1,
                                     .document = R"({"metadata": {}, "spec": {}})"}));
    ASSERT_TRUE(store.CreateSweep({.name_space = "default",
                                   .name = "s",
                                   .created_unix_ns = 1,
                                   .document = R"({"metadata": {}, "spec": {}})",
                                   .status = R"({"phase": "Running"})"}));
  }
  ASSERT_TRUE(Of(Check(), State::kDamaged).empty());
  {
    auto database = Database::Open(path());
    ASSERT_TRUE(database->Execute("UPDATE jobs SET created_unix_ns = 8"));
    ASSERT_TRUE(database->Execute("UPDATE requests SET body_digest = 'd1gest'"));
    ASSERT_TRUE(database->Execute("UPDATE clusters SET created_unix_ns = 8"));
    ASSERT_TRUE(database->Execute("UPDATE sweeps SET status = '{\"phase\": \"Complete\"}'"));
  }

  const auto damaged = Of(Check(), State::kDamaged);

  ASSERT_EQ(damaged.size(), 4u);
  EXPECT_EQ(damaged[0].subject, "job 1 (default/a)");
  EXPECT_EQ(damaged[1].subject, "request 1 (default/key)");
  EXPECT_EQ(damaged[2].subject, "cluster 1 (default/pod)");
  EXPECT_EQ(damaged[3].subject, "sweep 1 (default/s)");
  JobStore store = Open();
  EXPECT_TRUE(store.LoadRequests()->empty());
  EXPECT_FALSE(store.LoadClusters()->front().damage.empty());
  EXPECT_FALSE(store.LoadSweeps()->front().damage.empty());
}

TEST_F(StoreCheckTest, RepairBuildsADamagedIndexAgain) {
  Create("namesake");
  Overwrite("namesake", "namesakf", /*which=*/1);
  ASSERT_FALSE(Of(Check(), State::kDamaged).empty());

  const auto repaired = Of(Check(/*repair=*/true), State::kRepaired);

  ASSERT_FALSE(repaired.empty());
  EXPECT_THAT(repaired[0].text, HasSubstr("the indexes were built again"));
  EXPECT_TRUE(Of(Check(), State::kDamaged).empty());
  EXPECT_TRUE(Open().FindJob("default", "namesake")->has_value());
}

TEST_F(StoreCheckTest, RepairSavesTheRowsBesideADamagedPage) {
  constexpr int kJobsMade = 60;
  {
    JobStore store = Open();
    for (int i = 0; i < kJobsMade; ++i) {
      const std::string name = "j" + std::to_string(i);
      ASSERT_TRUE(
          store.CreateJob(Job(name, "mark-" + name + "-" + std::string(1000, 'x')), std::nullopt));
    }
  }
  {
    // The whole page that holds this job, in the middle of the table.
    fs::remove(path() + "-wal");
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const std::size_t page = bytes.find("mark-j30-") / 4096 * 4096;
    file.clear();
    file.seekp(static_cast<std::streamoff>(page));
    file << std::string(4096, '\xff');
  }
  EXPECT_EQ(Open().LoadJobs().error().code, ErrorCode::kCorrupt);
  ASSERT_FALSE(Of(Check(), State::kDamaged).empty());

  const auto repaired = Of(Check(/*repair=*/true), State::kRepaired);

  ASSERT_FALSE(repaired.empty());
  EXPECT_THAT(repaired[0].text, HasSubstr("damaged/jobs.db"));
  EXPECT_TRUE(fs::exists(root_ / "damaged/jobs.db"));
  EXPECT_TRUE(Of(Check(), State::kDamaged).empty());
  JobStore store = Open();
  const auto jobs = store.LoadJobs();
  EXPECT_GE(jobs->size(), kJobsMade - 4u);
  EXPECT_EQ(jobs->front().name, "j0");
  EXPECT_EQ(jobs->back().name, "j59");
  EXPECT_GT(store.CreateJob(Job("new"), std::nullopt)->uid, kJobsMade);
}

TEST_F(StoreCheckTest, RepairOfAFileThatIsNoDatabaseReusesNoNumberOfAJob) {
  Create("a");
  std::ofstream(root_ / "logs/41.log") << "0\t1\t0\tone\n";
  fs::remove(path() + "-wal");
  std::ofstream(path()) << std::string(8192, 'x');

  const auto repaired = Of(Check(/*repair=*/true), State::kRepaired);

  ASSERT_FALSE(repaired.empty());
  EXPECT_THAT(repaired[0].text, HasSubstr("0 row(s) were saved"));
  EXPECT_EQ(ReadBack("damaged/jobs.db"), std::string(8192, 'x'));
  EXPECT_GT(Open().CreateJob(Job("new"), std::nullopt)->uid, 41);
}

TEST_F(StoreCheckTest, AStoreOfAnEarlierVersionIsCheckedByItsForm) {
  Create("a");
  Create("b");
  {
    auto database = Database::Open(path());
    ASSERT_TRUE(
        database->Execute("ALTER TABLE jobs DROP COLUMN document_checksum;"
                          "ALTER TABLE jobs DROP COLUMN status_checksum;"
                          "ALTER TABLE requests DROP COLUMN checksum;"
                          "ALTER TABLE clusters DROP COLUMN checksum;"
                          "DROP TABLE sweeps;"
                          "UPDATE jobs SET status = '{\"conditi' WHERE uid = 1;"
                          "PRAGMA user_version=1"));
  }

  const auto findings = Check();

  EXPECT_THAT(Of(findings, State::kNote).at(0).text, HasSubstr("without checksums"));
  ASSERT_EQ(Of(findings, State::kDamaged).size(), 1u);
  EXPECT_THAT(Of(findings, State::kDamaged)[0].text, HasSubstr("its status is no JSON object"));
  EXPECT_EQ(Of(Check(/*repair=*/true), State::kRepaired).size(), 1u);
  EXPECT_TRUE(Of(Check(), State::kDamaged).empty());
}

TEST_F(StoreCheckTest, TheFolderOfALiveControllerIsRefusedUnchanged) {
  Create("a");
  const auto held = DataDirectory::Open(root_.path());

  const auto refused = CheckStore({.folder = root_.path(), .repair = true});

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is in use by process"));
}

TEST_F(StoreCheckTest, AFolderWithoutAStoreIsRefusedUnchanged) {
  const auto refused = CheckStore({.folder = root_ / "other", .repair = true});

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("there is no store"));
  EXPECT_FALSE(fs::exists(root_ / "other"));
}

}  // namespace
}  // namespace eidolon::controller::store
