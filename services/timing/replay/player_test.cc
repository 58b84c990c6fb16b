#include "services/timing/replay/player.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/pointer_tag.h"
#include "services/timing/kernel/parameters.h"
#include "source_tree.h"

namespace eidolon::timing::replay {
namespace {

using testing::HasSubstr;

constexpr const char* kDriver = EIDOLON_BINARY_DIR "/tests/libeidolon_fake_cuda.so";
constexpr std::uint64_t kBegin = 0x6b0100000000;

// The fake driver's state belongs to the process, so each case is a process of its own (ctest runs
// them so).
class PlayerTest : public testing::Test {
 protected:
  PlayerTest() : folder_(testing::TempDir() + "/player-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::ofstream(folder_ + "/code") << "module";
    memory_.module_file = folder_ + "/code";
    launch_.name = "kernel";
    launch_.grid = {128, 1, 1};
    launch_.block = {256, 1, 1};
  }
  ~PlayerTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  base::Result<std::unique_ptr<Player>> Open(const char* script = "") {
    setenv("EIDOLON_FAKE_DRIVER", script, 1);
    return Player::Open({.driver = kDriver, .libraries = folder_});
  }

  // A parameter that points `offset` bytes into emulated memory.
  void AddPointer(std::uint64_t offset) {
    const std::uint64_t address = kBegin + offset;
    const std::uint64_t blanked = workload::kPointerTag | (address & 0xff);
    memory_.parameters.append(reinterpret_cast<const char*>(&address), 8);
    launch_.parameters.append(reinterpret_cast<const char*>(&blanked), 8);
  }
  void AddNumber(std::uint64_t number) {
    memory_.parameters.append(reinterpret_cast<const char*>(&number), 8);
    launch_.parameters.append(reinterpret_cast<const char*>(&number), 8);
  }

  std::string folder_;
  kernel::KernelLaunch launch_;
  KernelMemory memory_;
};

TEST_F(PlayerTest, SaysWhatGpuItOwns) {
  const auto player = Open();

  ASSERT_TRUE(player) << player.error().message;
  EXPECT_EQ((*player)->gpu().name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ((*player)->gpu().multiprocessors, 132u);
  EXPECT_EQ((*player)->gpu().cuda, "13.2");
  EXPECT_THAT((*player)->gpu().libraries, HasSubstr("no cuBLAS"));
}

TEST_F(PlayerTest, LeavesNoStreamBehind) {
  void* const driver = dlopen(kDriver, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr) << dlerror();
  const auto streams = reinterpret_cast<int (*)()>(dlsym(driver, "EidolonFakeStreams"));
  ASSERT_NE(streams, nullptr);
  const int before = streams();
  {
    const auto player = Open();
    ASSERT_TRUE(player) << player.error().message;
    EXPECT_EQ(streams(), before + 1);
  }

  EXPECT_EQ(streams(), before);
}

TEST_F(PlayerTest, AMachineWithoutADriverIsTold) {
  const auto player = Player::Open({.driver = "libnowhere.so.1"});

  ASSERT_FALSE(player);
  EXPECT_EQ(player.error().code, base::ErrorCode::kNotFound);
  EXPECT_THAT(player.error().message, HasSubstr("no CUDA driver: libnowhere.so.1"));
}

TEST_F(PlayerTest, AGpuThatIsNotThereIsTold) {
  const auto index = Player::Open({.driver = kDriver, .gpu = "3"});
  const auto uuid = Player::Open({.driver = kDriver, .gpu = "GPU-00000000"});
  const auto found =
      Player::Open({.driver = kDriver, .gpu = "GPU-1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1f1f"});

  EXPECT_THAT(index.error().message, HasSubstr("no GPU '3'; the driver has 1"));
  EXPECT_FALSE(uuid);
  EXPECT_TRUE(found);
}

TEST_F(PlayerTest, MeasuresAKernelAtItsAddressesWithoutTheEventsShare) {
  const auto player = Open();
  ASSERT_TRUE(player) << player.error().message;
  AddPointer(0x200);
  AddNumber(77);
  AddPointer(std::uint64_t{5} << 20);
  memory_.allocations = {{kBegin, 0x400}, {kBegin + (5 << 20), 1 << 20}};

  const auto played = (*player)->Play(launch_, memory_);

  ASSERT_TRUE(played) << played.error().message;
  EXPECT_EQ(played->reading.median_ps, 3'000'000'000u);
  EXPECT_LT(played->reading.spread, 1e-3);
  EXPECT_EQ(played->reading.repetitions, 30u);
  EXPECT_FALSE(played->moved);
}

TEST_F(PlayerTest, PointersFollowMemoryThatCannotLieAtItsAddress) {
  const auto player = Open("cuMemAddressReserve:1:move");
  ASSERT_TRUE(player);
  AddPointer(0x200);
  memory_.allocations = {{kBegin, 0x400}};

  const auto played = (*player)->Play(launch_, memory_);

  ASSERT_TRUE(played) << played.error().message;
  EXPECT_TRUE(played->moved);
}

TEST_F(PlayerTest, MemoryOfEarlierReplaysGoesWhenItIsNeeded) {
  const auto player = Open();
  ASSERT_TRUE(player);
  AddPointer(0);
  for (const std::uint64_t gib : {5, 1, 6, 5}) {
    memory_.allocations = {{kBegin, gib << 30}};
    EXPECT_TRUE((*player)->Play(launch_, memory_)) << gib;
  }
  memory_.allocations = {{kBegin, 0x1000}, {kBegin + (std::uint64_t{1} << 33), 7ull << 30}};
  EXPECT_TRUE((*player)->Play(launch_, memory_));
}

TEST_F(PlayerTest, RefusesWhatItCannotReplayAndGoesOn) {
  const auto player = Open();
  ASSERT_TRUE(player);
  AddPointer(0x200);
  const auto refusal = [&](const kernel::WorkItem& item) {
    const auto played = (*player)->Play(item, memory_);
    return played ? std::string("played") : played.error().message;
  };
  EXPECT_THAT(refusal(launch_), HasSubstr("the pointer at byte 0 points into no allocation"));
  memory_.allocations = {{kBegin, 9ull << 30}};
  EXPECT_THAT(refusal(launch_), HasSubstr("the rank's memory does not fit"));
  memory_.allocations = {{kBegin, 0}};
  EXPECT_THAT(refusal(launch_), HasSubstr("of 0 bytes"));
  memory_.allocations = {{kBegin, 0x400}};
  launch_.name = "absent";
  EXPECT_THAT(refusal(launch_), HasSubstr("finding the function"));
  launch_.name = "kernel";
  launch_.parameters += "12345678";
  EXPECT_THAT(refusal(launch_), HasSubstr("parameters of 8 bytes for a block of 16"));
  EXPECT_THAT(refusal(kernel::LibraryCall{}), HasSubstr("not replayed"));
  EXPECT_THAT(refusal(kernel::DnnGraph{}), HasSubstr("no cuDNN"));
  EXPECT_THAT(refusal(kernel::Gemm{}), HasSubstr("no cuBLAS"));
  EXPECT_THAT(refusal(kernel::Copy{.kind = workload::CopyKind::kPeer, .bytes = 8, .row_bytes = 8}),
              HasSubstr("not replayed"));
  launch_.parameters.resize(8);
  EXPECT_EQ(refusal(launch_), "played");
}

TEST_F(PlayerTest, RefusesCopiesThatMakeNoSense) {
  const auto player = Open();
  ASSERT_TRUE(player);
  using workload::CopyKind;
  const auto refusal = [&](const kernel::Copy& copy) {
    const auto played = (*player)->Play(copy, memory_);
    return played ? std::string("played") : played.error().message;
  };
  const auto kind = CopyKind::kHostToDevice;
  EXPECT_THAT(refusal({.kind = kind, .bytes = 0, .row_bytes = 0}), HasSubstr("of nothing"));
  EXPECT_THAT(refusal({.kind = kind, .bytes = 10, .row_bytes = 0}), HasSubstr("do not add up"));
  EXPECT_THAT(refusal({.kind = kind, .bytes = 10, .row_bytes = 4}), HasSubstr("do not add up"));
  EXPECT_THAT(refusal({.kind = kind, .bytes = 3ull << 30, .row_bytes = 1}), HasSubstr("2 GiB"));
  EXPECT_THAT(refusal({.kind = CopyKind::kMemset, .bytes = ~0ull, .row_bytes = ~0ull}),
              HasSubstr("larger than any memory"));
}

TEST_F(PlayerTest, MeasuresCopiesAndMemsets) {
  const auto player = Open();
  ASSERT_TRUE(player);
  using workload::CopyKind;
  for (const CopyKind kind : {CopyKind::kMemset, CopyKind::kDeviceToDevice, CopyKind::kHostToDevice,
                              CopyKind::kDeviceToHost}) {
    for (const std::uint64_t rows : {1, 1024}) {
      for (const bool pinned : {true, false}) {
        const kernel::Copy copy{
            .kind = kind, .pinned = pinned, .bytes = 64 << 20, .row_bytes = (64 << 20) / rows};
        const auto played = (*player)->Play(copy, memory_);
        ASSERT_TRUE(played) << played.error().message;
        const double expected = kind == CopyKind::kMemset ? 64e6 : 3e9;
        EXPECT_NEAR(static_cast<double>(played->reading.median_ps), expected, 1e5) << rows;
      }
    }
  }
}

TEST_F(PlayerTest, OnlyPageableCopiesThatTheHostWaitsForComeLate) {
  using workload::CopyKind;
  for (const bool cold_cache : {true, false}) {
    const auto player = Player::Open({.driver = kDriver, .cold_cache = cold_cache});
    ASSERT_TRUE(player);
    for (const CopyKind kind : {CopyKind::kHostToDevice, CopyKind::kDeviceToHost}) {
      for (const std::uint64_t bytes : {64 << 10, 66 << 10}) {
        for (const std::uint64_t rows : {1, 64}) {
          const auto played = (*player)->Play(
              kernel::Copy{.kind = kind, .bytes = bytes, .row_bytes = bytes / rows}, memory_);
          ASSERT_TRUE(played) << played.error().message;
          EXPECT_NEAR(static_cast<double>(played->reading.median_ps), 3e9, 1e5) << bytes;
        }
      }
    }
  }
}

// Faults stay with a process, so each script has one of its own. Requires: `body` answers whether
// all was well.
template <typename Body>
void ExpectInChild(const std::string& script, Body&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << script;
}

TEST_F(PlayerTest, AFaultingKernelIsALostContext) {
  AddPointer(0x200);
  memory_.allocations = {{kBegin, 0x400}};
  for (const char* script :
       {"cuStreamSynchronize:29:700", "cuGraphLaunch:2:719", "cuStreamSynchronize:31:719"}) {
    ExpectInChild(script, [&] {
      const auto player = Open(script);
      const auto played = player ? (*player)->Play(launch_, memory_) : base::Result<Played>{};
      return player && !played && played.error().code == base::ErrorCode::kUnavailable;
    });
  }
}

TEST_F(PlayerTest, EveryCallThatFailsIsAnErrorAndNoneIsASilentTime) {
  AddPointer(0x200);
  memory_.allocations = {{kBegin, 0x400}};
  // The first use of these is the kernel's; of the others the stopwatch was there before.
  for (const char* script :
       {"cuMemAddressReserve:1:2", "cuMemCreate:1:2", "cuMemMap:1:2", "cuMemSetAccess:1:2",
        "cuMemGetInfo_v2:1:2", "cuModuleLoadData:1:2", "cuModuleGetFunction:1:2",
        "cuLaunchKernelEx:1:2", "cuLaunchKernelEx:4:2", "cuStreamBeginCapture_v2:2:2",
        "cuStreamEndCapture:2:2", "cuEventElapsedTime_v2:30:2"}) {
    ExpectInChild(script, [&] {
      const auto player = Open(script);
      return player && !(*player)->Play(launch_, memory_);
    });
  }
}

TEST(StopwatchTest, TheMedianIsWithoutTheOverheadAndNeverNothing) {
  const auto reading = Summarise({3, 1, 2, 5, 4}, 0.5f);
  const auto nothing = Summarise({1, 1, 1}, 1);

  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->median_ps, 2'500'000'000u);
  EXPECT_NEAR(reading->spread, 2.72 / 2 / 2.5, 1e-6);
  EXPECT_EQ(reading->repetitions, 5u);
  EXPECT_FALSE(nothing);
}

}  // namespace
}  // namespace eidolon::timing::replay
