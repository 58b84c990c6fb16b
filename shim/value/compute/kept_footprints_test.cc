#include "shim/value/compute/kept_footprints.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "shim/gpu/module/sample.h"
#include "shim/value/compute/experience.h"
#include "shim/value/compute/machine_code.h"

namespace eidolon::shim::compute {
namespace {

namespace fs = std::filesystem;

constexpr base::Digest kBuild{1, 2};
constexpr base::Digest kKey{3, 4};

KeptFootprint Sample() {
  KeptFootprint one{
      .condition = Condition({{.at = 8, .mask = ~0u, .value = 5}}),
      .footprint = {.writes = {{.pointer = 1, .begin = -8, .end = 4096, .is_certain = true}},
                    .buffers = {0}},
      .all_variables = true};
  return one;
}

std::vector<std::byte> Parameters(std::uint32_t third_word) {
  const std::uint32_t words[4] = {0, 0, third_word, 0};
  std::vector<std::byte> bytes(sizeof(words));
  std::memcpy(bytes.data(), words, sizeof(words));
  return bytes;
}

class KeptFootprintsTest : public testing::Test {
 protected:
  KeptFootprintsTest() {
    folder_ = fs::path(testing::TempDir()) /
              ("kept_footprints_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~KeptFootprintsTest() override { fs::remove_all(folder_); }

  std::vector<fs::path> FilesWith(const std::string& ending) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().string().ends_with(ending)) files.push_back(entry.path());
    }
    return files;
  }

  fs::path folder_;
};

TEST_F(KeptFootprintsTest, AnotherProcessFindsWhatWasAdded) {
  KeptFootprints(folder_, kBuild).Add(kKey, 2, Sample());

  const auto found = KeptFootprints(folder_, kBuild).Load(kKey, 2);

  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].condition.Holds(Parameters(5)));
  EXPECT_FALSE(found[0].condition.Holds(Parameters(6)));
  EXPECT_TRUE(found[0].all_variables);
  EXPECT_FALSE(found[0].footprint.everything);
  EXPECT_EQ(found[0].footprint.buffers, std::vector<std::uint32_t>{0});
  ASSERT_EQ(found[0].footprint.writes.size(), 1u);
  EXPECT_EQ(found[0].footprint.writes[0].begin, -8);
  EXPECT_EQ(found[0].footprint.writes[0].end, 4096);
  EXPECT_TRUE(found[0].footprint.writes[0].is_certain);
}

TEST_F(KeptFootprintsTest, AnotherBuildAndAnotherKeyFindNothing) {
  KeptFootprints(folder_, kBuild).Add(kKey, 2, Sample());

  EXPECT_TRUE(KeptFootprints(folder_, {1, 3}).Load(kKey, 2).empty());
  EXPECT_TRUE(KeptFootprints(folder_, kBuild).Load({3, 5}, 2).empty());
  EXPECT_TRUE(FilesWith(".refused").empty());
}

TEST_F(KeptFootprintsTest, WithoutAnIdentityOfTheBuildNothingIsKept) {
  KeptFootprints(folder_, {}).Add(kKey, 2, Sample());

  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(KeptFootprintsTest, AnyByteThatChangedIsSeenAndTheFileSetAside) {
  const std::vector<std::byte> good = Format(kBuild, kKey, std::vector{Sample()});
  ASSERT_TRUE(Parse(good, kBuild, kKey, 2).has_value());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<std::byte> bad = good;
    bad[i] ^= std::byte{0x10};
    EXPECT_FALSE(Parse(bad, kBuild, kKey, 2).has_value()) << i;
    EXPECT_FALSE(Parse(std::span(good).first(i), kBuild, kKey, 2).has_value()) << i;
  }
  const KeptFootprints kept(folder_, kBuild);
  kept.Add(kKey, 2, Sample());
  std::ofstream(FilesWith(".footprints").at(0), std::ios::app) << "x";

  EXPECT_TRUE(kept.Load(kKey, 2).empty());
  EXPECT_EQ(FilesWith(".refused").size(), 1u);
  EXPECT_TRUE(FilesWith(".footprints").empty());
}

TEST_F(KeptFootprintsTest, OneThatNamesAPointerThatThereIsNotIsRefused) {
  const std::vector<std::byte> bytes = Format(kBuild, kKey, std::vector{Sample()});

  EXPECT_FALSE(Parse(bytes, kBuild, kKey, 1).has_value());
}

TEST_F(KeptFootprintsTest, ALinkIsNotFollowed) {
  const KeptFootprints kept(folder_, kBuild);
  kept.Add(kKey, 2, Sample());
  const fs::path file = FilesWith(".footprints").at(0);
  fs::rename(file, folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", file);

  EXPECT_TRUE(kept.Load(kKey, 2).empty());
}

TEST_F(KeptFootprintsTest, OfOneKeyOnlySoManyAreKept) {
  const KeptFootprints kept(folder_, kBuild);
  for (std::size_t i = 0; i < KeptFootprints::kMostOfKey + 3; ++i) kept.Add(kKey, 2, Sample());

  EXPECT_EQ(kept.Load(kKey, 2).size(), KeptFootprints::kMostOfKey);
}

TEST_F(KeptFootprintsTest, WhoWritesAtOnceLeavesWholeFiles) {
  const auto add = [this] {
    const KeptFootprints kept(folder_, kBuild);
    for (int i = 0; i < 20; ++i) kept.Add(kKey, 2, Sample());
  };
  std::thread other(add);
  add();
  other.join();

  EXPECT_FALSE(KeptFootprints(folder_, kBuild).Load(kKey, 2).empty());
  EXPECT_EQ(FilesWith("").size(), 1u);
}

constexpr std::uint64_t kKeptBuffer = 0x6b0100000000;

constexpr Arena kKeptArena{
    .holds = [](std::uint64_t a) { return a - kKeptBuffer < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      return Arena::Range(a >> 20 << 20, ((a >> 20) + 1) << 20);
    }};

// A process's experience with scale(out, 2, count) of the sample.
class ExperiencedProcess {
 public:
  const Footprint& Add(std::uint32_t count, const KeptFootprints& kept) {
    struct {
      std::uint64_t out;
      float factor;
      std::uint32_t count;
    } const parameters{kKeptBuffer, 2, count};
    const auto bytes = std::as_bytes(std::span(&parameters, 1));
    kernel_.code = &FindMachineCode(gpu::SampleFatBinary().data(), "scale", {9, 0}, store_);
    const LaunchPointers pointers(bytes, kKeptArena);
    const Stores stores = interpret::FindStores(*kernel_.code->program, pointers.Places());
    const interpret::Launch launch{
        .grid = {(count + 127) / 128, 1, 1}, .block = {128, 1, 1}, .parameters = bytes};
    return *AddFootprint(kernel_, shape_,
                         {.program = *kernel_.code->program,
                          .launch = launch,
                          .pointers = pointers,
                          .stores = stores,
                          .variables = {},
                          .whole = true},
                         store_, kept);
  }

 private:
  value::Store store_;
  KernelExperience kernel_;
  ShapeExperience shape_;
};

TEST_F(KeptFootprintsTest, ALaterProcessTakesWhatAnEarlierOneLearned) {
  const KeptFootprints kept(folder_, kBuild);
  const Footprint learned = ExperiencedProcess().Add(1000, kept);
  const auto written = fs::last_write_time(FilesWith(".footprints").at(0));

  const Footprint taken = ExperiencedProcess().Add(1000, kept);

  EXPECT_EQ(Describe(taken), Describe(learned));
  ASSERT_EQ(taken.writes.size(), 1u);
  EXPECT_EQ(taken.writes[0].end, 4000);
  EXPECT_EQ(fs::last_write_time(FilesWith(".footprints").at(0)), written);
}

TEST_F(KeptFootprintsTest, OtherParametersOfTheSameShapeAreLearnedAndAdded) {
  const KeptFootprints kept(folder_, kBuild);
  ExperiencedProcess().Add(1000, kept);

  EXPECT_EQ(ExperiencedProcess().Add(999, kept).writes.at(0).end, 3996);
  EXPECT_EQ(ExperiencedProcess().Add(1000, kept).writes.at(0).end, 4000);
  EXPECT_EQ(FilesWith(".footprints").size(), 1u);
}

}  // namespace
}  // namespace eidolon::shim::compute
