#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "services/testing/fake_clock.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::testing {
namespace {

TEST(FakeClockTest, MovesOnlyWhenTold) {
  FakeClock clock;
  const auto monotonic = clock.MonotonicNs();
  const auto unix_ns = clock.UnixNs();

  clock.AdvanceSeconds(2);

  EXPECT_EQ(clock.MonotonicNs() - monotonic, 2'000'000'000);
  EXPECT_EQ(clock.UnixNs() - unix_ns, 2'000'000'000);
}

TEST(TemporaryDirectoryTest, DisappearsWithItsContents) {
  std::string path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    std::ofstream(directory / "file") << "x";
    EXPECT_TRUE(std::filesystem::exists(path + "/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace eidolon::testing
