// The writer against disks that are full, broken and slow.
#include "services/controller/store/store_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/testing/faulty_disk.h"
#include "services/testing/small_disk.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class StoreWriterTest : public ::testing::Test {
 protected:
  StoreWriterTest() { Open(); }
  ~StoreWriterTest() override { disk_.Heal(); }

  std::string path() const { return root_ / "jobs.db"; }
  void Open() {
    auto store = JobStore::Open(path());
    for (const char* name : {"a", "b", "c"}) {
      const auto found = store->FindJob("default", name);
      const bool known = found && *found;
      uids_[name] = known ? (*found)->uid : store->CreateJob(Row(name), std::nullopt)->uid;
    }
    writer_ = std::make_unique<StoreWriter>(
        StoreWriterOptions{.folder = root_.path(), .guard = &guard_}, std::move(*store), clock_);
  }
  static StoredJob Row(const std::string& name) {
    return {.name_space = "default",
            .name = name,
            .created_unix_ns = 7,
            .document = "{}",
            .status = "pending"};
  }
  Duty StatusOf(const std::string& name, const std::string& status) {
    return {.job = uids_[name],
            .what = name + " is " + status,
            .write =
                [this, name, status](JobStore& store) {
                  return store.SaveStatus(uids_[name], status, Durability::kPower);
                },
            .done = [this, name, status] { told_.push_back(name + "=" + status); }};
  }
  Request Creation(const std::string& name, base::Result<void>* answer) {
    return {.write = [name](JobStore& store) -> base::Result<void> {
              auto stored = store.CreateJob(Row(name), IdempotentRequest{"default", name, "d"});
              if (!stored) return std::unexpected(stored.error());
              return {};
            },
            .is_stored = [name](JobStore& store) -> base::Result<bool> {
              const auto found = store.FindJob("default", name);
              if (!found) return std::unexpected(found.error());
              return found->has_value();
            },
            .done = [answer](const base::Result<void>& result) { *answer = result; }};
  }
  bool Await(const std::function<bool()>& done) {
    for (int i = 0; i < 6000 && !done(); ++i) Pause(10ms);
    return done();
  }
  bool AwaitUnsaved(std::size_t count) {
    return Await([&] { return writer_->state().unsaved == count; });
  }
  // Returns what a new controller would find.
  std::map<std::string, std::string> CloseAndRead() {
    left_ = writer_->Close(0ms);
    writer_.reset();
    std::map<std::string, std::string> found;
    auto store = JobStore::Open(path());
    for (const StoredJob& job : *store->LoadJobs()) found[job.name] = job.status;
    return found;
  }
  std::vector<std::string> told() {
    const std::lock_guard lock(guard_);
    return told_;
  }

  testing::FaultyDisk disk_;
  testing::TemporaryDirectory root_;
  base::SystemClock clock_;
  std::map<std::string, std::int64_t> uids_;
  std::mutex guard_;
  std::vector<std::string> told_;
  std::vector<std::string> left_;
  std::unique_ptr<StoreWriter> writer_;

 private:
  static void Pause(std::chrono::milliseconds time) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable never;
    never.wait_for(lock, time);
  }
};

TEST_F(StoreWriterTest, RepeatsInOrderWhatAFullDiskRefuses) {
  disk_.FillUp();
  writer_->Keep(StatusOf("a", "first"));
  writer_->Keep(StatusOf("b", "complete"));
  writer_->Keep(StatusOf("a", "complete"));
  ASSERT_TRUE(Await([&] { return writer_->state().failed_writes >= 3; }));
  EXPECT_EQ(writer_->state().unsaved, 2u);
  EXPECT_EQ(writer_->state().writable.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(told(), ElementsAre());

  disk_.Heal();

  ASSERT_TRUE(AwaitUnsaved(0));
  EXPECT_TRUE(writer_->state().writable);
  EXPECT_THAT(told(), ::testing::UnorderedElementsAre("b=complete", "a=complete"));
  const auto found = CloseAndRead();
  EXPECT_EQ(found.at("a"), "complete");
  EXPECT_EQ(found.at("b"), "complete");
}

TEST_F(StoreWriterTest, OpensTheFileAgainAfterAFailedFsync) {
  // A failed fsync leaves a commit in the page cache that may never reach the disk.
  disk_.FailSyncs(1);
  writer_->Keep(StatusOf("a", "complete"));

  ASSERT_TRUE(AwaitUnsaved(0));

  EXPECT_EQ(writer_->state().failed_writes, 1u);
  EXPECT_TRUE(writer_->state().writable);
  EXPECT_EQ(CloseAndRead().at("a"), "complete");
}

TEST_F(StoreWriterTest, GoesOnTryingWhileTheFileCannotBeOpened) {
  disk_.FailWrites(2);
  disk_.FailOpens(3);
  writer_->Keep(StatusOf("a", "complete"));

  ASSERT_TRUE(AwaitUnsaved(0));

  EXPECT_GE(writer_->state().failed_writes, 4u);
  EXPECT_EQ(CloseAndRead().at("a"), "complete");
}

TEST_F(StoreWriterTest, FindsOutWhetherACreationWithAFailedFsyncIsStored) {
  disk_.FailSyncs(1);
  base::Result<void> answer;
  const auto ticket = writer_->Ask(Creation("new", &answer));
  ASSERT_TRUE(ticket);

  ASSERT_EQ((*ticket)->Wait(60s), Ticket::End::kDone);

  // Whatever it is, it is what the file says.
  EXPECT_EQ(CloseAndRead().contains("new"), answer.has_value());
}

TEST_F(StoreWriterTest, RefusesRequestsOfAFullDiskAndNotForEver) {
  disk_.FillUp();
  base::Result<void> answer;
  const auto first = writer_->Ask(Creation("new", &answer));
  ASSERT_TRUE(first);
  ASSERT_EQ((*first)->Wait(60s), Ticket::End::kDone);
  EXPECT_EQ(answer.error().code, ErrorCode::kResourceExhausted);

  EXPECT_EQ(writer_->Ask(Creation("other", &answer)).error().code, ErrorCode::kResourceExhausted);

  disk_.Heal();
  ASSERT_TRUE(Await([&] { return writer_->state().writable.has_value(); }));
  const auto again = writer_->Ask(Creation("new", &answer));
  ASSERT_TRUE(again);
  ASSERT_EQ((*again)->Wait(60s), Ticket::End::kDone);
  EXPECT_TRUE(answer);
}

TEST_F(StoreWriterTest, ADiskThatHangsHoldsUpNobodyWhoHoldsTheLock) {
  disk_.Hang();
  writer_->Keep(StatusOf("a", "complete"));
  ASSERT_TRUE(Await([&] { return disk_.hanging() > 0; }));
  base::Result<void> answer;
  {
    const std::lock_guard lock(guard_);
    const auto ticket = writer_->Ask(Creation("new", &answer));
    ASSERT_TRUE(ticket);
    EXPECT_EQ((*ticket)->Wait(50ms), Ticket::End::kWithdrawn);
    EXPECT_EQ(writer_->state().unsaved, 1u);
  }
  ASSERT_TRUE(Await([&] { return !writer_->state().writable; }));
  EXPECT_THAT(writer_->state().writable.error().message, HasSubstr("takes longer than 5 s"));
  EXPECT_FALSE(writer_->Ask(Creation("other", &answer)));

  disk_.Heal();

  ASSERT_TRUE(AwaitUnsaved(0));
  const auto found = CloseAndRead();
  EXPECT_EQ(found.at("a"), "complete");
  EXPECT_FALSE(found.contains("new")) << "withdrawn, and stored all the same";
}

TEST_F(StoreWriterTest, TellsWhatIsLostWhenItMustEnd) {
  disk_.FillUp();
  writer_->Keep(StatusOf("a", "complete"));

  EXPECT_EQ(CloseAndRead().at("a"), "pending");

  EXPECT_THAT(left_, ElementsAre("a is complete"));
  EXPECT_THAT(told(), ElementsAre());
}

TEST_F(StoreWriterTest, OffersAreLostQuietly) {
  disk_.FillUp(1);
  writer_->Offer(StatusOf("a", "progress"));
  ASSERT_TRUE(Await([&] { return writer_->state().failed_writes == 1; }));
  ASSERT_TRUE(Await([&] { return writer_->state().writable.has_value(); }));
  writer_->Keep(StatusOf("a", "complete"));
  writer_->Offer(StatusOf("a", "progress"));
  ASSERT_TRUE(AwaitUnsaved(0));

  EXPECT_NE(CloseAndRead().at("a"), "pending");
}

TEST(FullDiskTest, ItsReserveTakesVerdictsAndNoNewJobs) {
  testing::SmallDisk disk(8);
  if (!disk.why_missing().empty()) GTEST_SKIP() << disk.why_missing();
  base::SystemClock clock;
  std::mutex guard;
  auto store = JobStore::Open(disk / "jobs.db");
  ASSERT_TRUE(store) << store.error().message;
  const std::int64_t uid = store
                               ->CreateJob({.name_space = "default",
                                            .name = "a",
                                            .created_unix_ns = 7,
                                            .document = "{}",
                                            .status = "pending"},
                                           std::nullopt)
                               ->uid;
  disk.Fill();
  EXPECT_EQ(ProbeFolder(disk.path()).error().code, ErrorCode::kResourceExhausted);
  const std::string verdict(100'000, 'v');
  {
    StoreWriter writer({.folder = disk.path(), .guard = &guard}, std::move(*store), clock);
    std::atomic<bool> stored = false;
    writer.Keep(
        {.job = uid,
         .what = "a",
         .write = [&](JobStore& to) { return to.SaveStatus(uid, verdict, Durability::kPower); },
         .done = [&] { stored = true; }});
    EXPECT_THAT(writer.Close(60s), ElementsAre());
    EXPECT_TRUE(stored);
  }

  // Also a new controller can read it there, and write.
  auto again = JobStore::Open(disk / "jobs.db");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->LoadJobs()->at(0).status, verdict);
  EXPECT_TRUE(again->SaveStatus(uid, "next", Durability::kPower));
}

TEST(ProbeFolderTest, AReadOnlyDiskIsUnavailableAndSaysSo) {
  testing::SmallDisk disk(1);
  if (!disk.why_missing().empty()) GTEST_SKIP() << disk.why_missing();
  EXPECT_TRUE(ProbeFolder(disk.path()));
  disk.MakeReadOnly();

  const auto probed = ProbeFolder(disk.path());

  EXPECT_EQ(probed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(probed.error().message, HasSubstr("Read-only file system"));
  EXPECT_THAT(WayOut(probed.error(), disk.path()), HasSubstr(disk.path()));
}

TEST(ProbeFolderTest, AFolderThatWasRemovedIsUnavailableAndSaysSo) {
  const auto probed = ProbeFolder("/nonexistent/data");

  EXPECT_EQ(probed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(probed.error().message, HasSubstr("/nonexistent/data/probe: No such file"));
}

}  // namespace
}  // namespace eidolon::controller::store
