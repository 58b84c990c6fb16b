#include "services/controller/outputs/output_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "services/controller/outputs/run_outputs.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::outputs {
namespace {

class OutputStoreTest : public ::testing::Test {
 protected:
  // A job of one server leaves a timeline of these bytes.
  static void Leave(OutputStore* store, const JobId& job, const std::string& bytes) {
    RunOutputs run(store, job, {.timeline = true, .recording = false});
    run.Add(0, {.kind = Kind::kTimeline, .data = bytes, .is_last = true, .error = {}});
    const RunOutputs::Kept kept = run.Keep({0}, "");
    ASSERT_EQ(kept.timeline_bytes, bytes.size()) << ::testing::PrintToString(kept.warnings);
  }

  static std::string Read(const std::optional<std::string>& path) {
    if (!path) return "none";
    std::ifstream file(*path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  }

  // 133 bytes of these are for copies, 400 for all else.
  OutputStore::Options Options() const { return {.folder = folder_.path(), .bytes_max = 533}; }

  testing::TemporaryDirectory folder_;
  const JobId a_ = {"team", "a", "uid-a"}, b_ = {"team", "b", "uid-b"};
};

TEST_F(OutputStoreTest, FindsWhatAJobOfThisNameAndUidHasLeft) {
  OutputStore store(Options());
  Leave(&store, a_, "one");

  EXPECT_EQ(Read(store.Find(a_, Kind::kTimeline)), "one");
  EXPECT_FALSE(store.Find({"team", "a", "another"}, Kind::kTimeline));
  EXPECT_FALSE(store.Find(b_, Kind::kTimeline));
  store.Remove("team", "a");
  EXPECT_FALSE(store.Find(a_, Kind::kTimeline));
}

TEST_F(OutputStoreTest, TimelineAndRecordingOfAJobGoWithIt) {
  OutputStore store(Options());
  {
    RunOutputs run(&store, a_, {.timeline = true, .recording = true});
    for (const Kind kind : {Kind::kTimeline, Kind::kRecording}) {
      run.Add(0, {.kind = kind, .data = "bytes", .is_last = true, .error = {}});
    }
    run.Keep({0}, "{}");
  }
  ASSERT_TRUE(store.Find(a_, Kind::kTimeline));
  ASSERT_TRUE(store.Find(a_, Kind::kRecording));

  store.Remove("team", "a");

  EXPECT_FALSE(store.Find(a_, Kind::kTimeline));
  EXPECT_FALSE(store.Find(a_, Kind::kRecording));
}

TEST_F(OutputStoreTest, TheOldestGoesWhenThereIsNoRoom) {
  OutputStore store(Options());
  for (const char* name : {"a", "b", "c", "d"}) {
    Leave(&store, {"team", name, "uid"}, std::string(100, name[0]));
  }

  Leave(&store, {"team", "e", "uid"}, std::string(50, 'e'));

  EXPECT_FALSE(store.Find({"team", "a", "uid"}, Kind::kTimeline));
  EXPECT_EQ(Read(store.Find({"team", "b", "uid"}, Kind::kTimeline)), std::string(100, 'b'));
  EXPECT_EQ(Read(store.Find({"team", "e", "uid"}, Kind::kTimeline)), std::string(50, 'e'));
}

TEST_F(OutputStoreTest, RunsUnderWayTakeRoomThatIsNotThere) {
  OutputStore store(Options());
  std::vector<std::unique_ptr<RunOutputs>> runs;
  for (int i = 0; i < 5; ++i) {
    runs.push_back(std::make_unique<RunOutputs>(&store, JobId{"team", std::to_string(i), "uid"},
                                                RunOutputs::Wanted{.timeline = true}));
    runs.back()->Add(
        0, {.kind = Kind::kTimeline, .data = std::string(100, 'x'), .is_last = true, .error = {}});
  }

  const RunOutputs::Kept kept = runs.back()->Keep({0}, "");

  EXPECT_FALSE(kept.timeline_bytes);
  EXPECT_THAT(kept.warnings, ::testing::ElementsAre(::testing::HasSubstr("no room")));
  runs.clear();
  Leave(&store, a_, std::string(100, 'a'));
}

TEST_F(OutputStoreTest, TheNextProcessKeepsWhatIsWholeAndNothingElse) {
  std::string unfinished;
  {
    OutputStore store(Options());
    Leave(&store, a_, "one");
    std::filesystem::create_directories(folder_ / "parts/7");
    unfinished = folder_ / "parts/7/timeline-0";
    std::ofstream(unfinished) << "half";
  }

  OutputStore store(Options());

  EXPECT_EQ(Read(store.Find(a_, Kind::kTimeline)), "one");
  EXPECT_FALSE(std::filesystem::exists(unfinished));
}

TEST_F(OutputStoreTest, ACopyIsAFileOfItsOwn) {
  OutputStore store(Options());

  const auto one = store.MakeCopy(), other = store.MakeCopy();

  ASSERT_TRUE(one && other);
  EXPECT_NE((*one)->path(), (*other)->path());
  EXPECT_TRUE(std::filesystem::exists((*one)->path()));
}

TEST_F(OutputStoreTest, CopiesStayWithinAQuarterOfTheFolderAndTakeNothingFromOthers) {
  OutputStore store(Options());
  for (const char* name : {"a", "b", "c", "d"}) {
    Leave(&store, {"team", name, "uid"}, std::string(100, name[0]));
  }
  auto one = store.MakeCopy(), other = store.MakeCopy();
  ASSERT_TRUE(one && other);
  const std::string path = (*one)->path();

  ASSERT_TRUE((*one)->Append("half, "));
  ASSERT_TRUE((*one)->Append(std::string(100, 'x')));
  const auto refused = (*other)->Append(std::string(100, 'y'));

  EXPECT_EQ(Read(path), "half, " + std::string(100, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("ask again"));
  EXPECT_TRUE(store.Find({"team", "a", "uid"}, Kind::kTimeline)) << "kept files stay";
  *one = nullptr;
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE((*other)->Append(std::string(100, 'y')));
  // More than all copies may have: waiting would not help.
  EXPECT_EQ((*other)->Append(std::string(34, 'y')).error().code, base::ErrorCode::kInternal);
  EXPECT_TRUE((*other)->Append(std::string(33, 'y')));
}

}  // namespace
}  // namespace eidolon::controller::outputs
