#include "services/controller/embedded/controller_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <future>
#include <memory>

#include "services/base/clock.h"
#include "services/controller/embedded/fakes_test.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::embedded {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ControllerStateTest : public ::testing::Test {
 protected:
  ControllerStateTest() {
    auto directory = store::DataDirectory::Open(root_ / "data");
    auto store = store::JobStore::Open(directory->database_path());
    state_ = std::make_unique<ControllerState>(
        ControllerParts{clock_, placement_, simulators_, metrics_, [] { return std::string(); }}, 1,
        std::move(*directory));
    EXPECT_TRUE(state_->table().Load(std::move(*store)));
  }
  ~ControllerStateTest() override { (void)state_->table().Close(kStoreLimit); }

  // A stored job that waits in the queue.
  JobEntry* Queue(const std::string& name) {
    const json document = {{"apiVersion", "eidolon.dev/v1alpha1"},
                           {"kind", "SimulationJob"},
                           {"metadata", {{"name", name}}},
                           {"spec",
                            {{"cluster", {{"servers", 1}, {"server", {{"gpu", "H100-SXM5-80GB"}}}}},
                             {"command", {"python", "train.py"}}}}};
    const job::ParsedJob parsed = job::ParseJob(document, job::Mode::kEmbedded);
    EXPECT_TRUE(parsed.problems.empty()) << job::Describe(parsed.problems);
    ControllerState::Lock lock(state_->mutex());
    const auto asked = state_->table().Create("default", parsed, document, {}, std::nullopt,
                                              [](const base::Result<JobEntry*>&) {});
    lock.unlock();
    EXPECT_EQ((*asked)->Wait(kStoreLimit), store::Ticket::End::kDone);
    lock.lock();
    JobEntry* entry = state_->table().Find("default", name);
    state_->queue().Add(entry->uid);
    return entry;
  }
  static std::string MessageOf(const JobEntry& entry) {
    return entry.conditions.Find(job::condition::kScheduled)->message;
  }

  testing::TemporaryDirectory root_;
  base::SystemClock clock_;
  prometheus::Registry registry_;
  metrics::Metrics metrics_{&registry_};
  FakeSimulators simulators_;
  FakePlacement placement_;
  std::unique_ptr<ControllerState> state_;
};

TEST_F(ControllerStateTest, JobsThatWaitSayHowManyAreBeforeThem) {
  const JobEntry* first = Queue("first");
  const JobEntry* second = Queue("second");
  const ControllerState::Lock lock(state_->mutex());

  state_->PublishQueue();

  EXPECT_EQ(MessageOf(*first), "waiting: 0 job(s) before this one, 0 running");
  EXPECT_EQ(MessageOf(*second), "waiting: 1 job(s) before this one, 0 running");
}

TEST_F(ControllerStateTest, JobsThatWaitSayThatTheStoreCannotBeWrittenUntilItCan) {
  const JobEntry* entry = Queue("job");
  const ControllerState::Lock lock(state_->mutex());

  state_->SetStoreError(base::Error{base::ErrorCode::kResourceExhausted, "the disk is full"});
  const std::string while_full = MessageOf(*entry);
  state_->SetStoreError(std::nullopt);

  EXPECT_THAT(while_full, HasSubstr("the disk is full"));
  EXPECT_THAT(MessageOf(*entry), HasSubstr("0 job(s) before this one"));
}

TEST_F(ControllerStateTest, AnAgentOfAJobWithoutARunFindsNone) {
  const JobEntry* entry = Queue("job");
  const ControllerState::Lock lock(state_->mutex());
  JobEntry* found = nullptr;

  EXPECT_EQ(state_->FindRun({entry->uid, 0}, &found), nullptr);
  EXPECT_EQ(state_->FindRun({entry->uid + 1, 0}, &found), nullptr);
}

TEST_F(ControllerStateTest, AStartThatIsNotBeingStoredIsNotTakenBack) {
  JobEntry* entry = Queue("job");
  const ControllerState::Lock lock(state_->mutex());
  entry->starting = true;

  EXPECT_FALSE(state_->TakeBackStart(entry));
  EXPECT_TRUE(entry->starting);
  EXPECT_FALSE(state_->HasLater());
}

TEST_F(ControllerStateTest, AStopWakesThoseWhoWaitForAChange) {
  auto watcher = std::async(std::launch::async, [this] {
    ControllerState::Lock lock(state_->mutex());
    return state_->AwaitChange(&lock, kStoreLimit, [this] { return state_->is_stopping(); });
  });
  {
    const ControllerState::Lock lock(state_->mutex());
    state_->BeginStop();
  }

  EXPECT_TRUE(watcher.get());
  EXPECT_GT(state_->stopping_ns(), 0);
}

TEST_F(ControllerStateTest, WhatIsLeftForTheControlThreadIsTakenOnce) {
  int done = 0;
  const ControllerState::Lock lock(state_->mutex());
  state_->Later([&] { ++done; });

  for (const auto& action : state_->TakeLater()) action();
  for (const auto& action : state_->TakeLater()) action();

  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace eidolon::controller::embedded
