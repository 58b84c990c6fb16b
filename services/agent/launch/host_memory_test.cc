#include "services/agent/launch/host_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace eidolon::agent::launch {
namespace {

// A machine's /proc and /sys/fs/cgroup, as folders.
class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() {
    char path[] = "/tmp/eidolon-cgroup-XXXXXX";
    root_ = mkdtemp(path);
  }
  ~HostMemoryTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::optional<HostMemory> Read() const {
    return ReadHostMemory(root_ + "/proc", root_ + "/sys/fs/cgroup");
  }

  std::string root_;
};

TEST_F(HostMemoryTest, ReadsTheContainersOwnCgroup) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.events",
        "low 0\nhigh 0\nmax 40\noom 3\noom_kill 2\noom_group_kill 0\n");
  Write("/sys/fs/cgroup/memory.max", "17179869184\n");
  Write("/sys/fs/cgroup/memory.peak", "17179860000\n");

  const auto memory = Read();

  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->peak_bytes, 17'179'860'000u);
  EXPECT_EQ(memory->kills, 2u);
  EXPECT_EQ(memory->limit_hits, 3u);
  EXPECT_EQ(memory->limit_bytes, 17'179'869'184u);
}

TEST_F(HostMemoryTest, ReadsTheCgroupOfALoginWithoutALimit) {
  Write("/proc/self/cgroup", "0::/user.slice/session-1.scope\n");
  Write("/sys/fs/cgroup/user.slice/session-1.scope/memory.events", "oom 0\noom_kill 1\n");
  Write("/sys/fs/cgroup/user.slice/session-1.scope/memory.max", "max\n");

  const auto memory = Read();

  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->kills, 1u);
  EXPECT_EQ(memory->limit_hits, 0u);
  EXPECT_EQ(memory->limit_bytes, 0u);
}

TEST_F(HostMemoryTest, ReadsVersionOneWherePathsOfTheHostAreNotThere) {
  Write("/proc/self/cgroup",
        "12:cpu,cpuacct:/kubepods/pod1/c1\n9:memory:/kubepods/pod1/c1\n0::/kubepods/pod1/c1\n");
  Write("/sys/fs/cgroup/memory/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  Write("/sys/fs/cgroup/memory/memory.failcnt", "17\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");

  const auto memory = Read();

  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->kills, 4u);
  EXPECT_EQ(memory->limit_hits, 17u);
  EXPECT_EQ(memory->limit_bytes, 0u) << "version 1 writes no limit as a large number";
}

TEST_F(HostMemoryTest, APodsLimitThatIsReachedFirstCountsAsTheContainers) {
  HostMemory memory{.kills = 1, .limit_hits = 0, .limit_bytes = 256 << 20, .peak_bytes = 255 << 20};

  EXPECT_TRUE(IsAtLimit(memory));
  memory.peak_bytes = 200 << 20;
  EXPECT_FALSE(IsAtLimit(memory)) << "the machine had no memory left";
  memory.limit_hits = 1;
  EXPECT_TRUE(IsAtLimit(memory));
  EXPECT_FALSE(IsAtLimit({.kills = 1, .limit_hits = 1, .limit_bytes = 0, .peak_bytes = 1 << 30}));
}

TEST_F(HostMemoryTest, KnowsNothingWhereThereIsNoMemoryController) {
  EXPECT_FALSE(Read().has_value());
  Write("/proc/self/cgroup", "garbage\n0:\n0::/\n");
  EXPECT_FALSE(Read().has_value());
}

TEST_F(HostMemoryTest, CountsFromTheStartOfTheCommand) {
  const HostMemory since = HostMemorySince({.kills = 2, .limit_hits = 5, .limit_bytes = 1},
                                           {.kills = 3, .limit_hits = 5, .limit_bytes = 4});

  EXPECT_EQ(since.kills, 1u);
  EXPECT_EQ(since.limit_hits, 0u);
  EXPECT_EQ(since.limit_bytes, 4u);
}

}  // namespace
}  // namespace eidolon::agent::launch
