// Questions about the GPUs' device files.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>

#include "shim/core/fake_agent.h"

namespace eidolon::shim::core {
namespace {

TEST(DeviceFilesTest, InAJobTheDeviceFilesOfAGpuAreThere) {
  FakeAgent::Start();

  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"}) {
    struct stat plain {};
    EXPECT_EQ(stat(path, &plain), 0) << path;
    EXPECT_TRUE(S_ISCHR(plain.st_mode)) << path;
    struct stat64 wide {};
    EXPECT_EQ(stat64(path, &wide), 0) << path;
    struct statx more {};
    EXPECT_EQ(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &more), 0) << path;
    EXPECT_TRUE(S_ISCHR(more.stx_mode)) << path;
    EXPECT_EQ(access(path, R_OK | W_OK), 0) << path;
  }
  struct stat control {};
  EXPECT_EQ(fstatat(AT_FDCWD, "/dev/nvidiactl", &control, 0), 0);
  EXPECT_EQ(control.st_rdev, makedev(195, 255));
}

TEST(DeviceFilesTest, OtherPathsAreWhatTheyAre) {
  FakeAgent::Start();

  struct stat found {};
  EXPECT_EQ(stat("/dev/nvidia77", &found), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(access("/dev/nvidiactl0", F_OK), -1);
  EXPECT_EQ(access("/dev/nvidiactl", X_OK), -1);
  EXPECT_EQ(stat("/dev/null", &found), 0);
  EXPECT_EQ(found.st_rdev, makedev(1, 3));
  EXPECT_EQ(lstat("/dev", &found), 0);
  EXPECT_TRUE(S_ISDIR(found.st_mode));
}

}  // namespace
}  // namespace eidolon::shim::core
