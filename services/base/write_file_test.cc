#include "services/base/write_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace eidolon::base {
namespace {

std::string PathOf(const std::string& name) { return testing::TempDir() + "/write_file_" + name; }

TEST(WriteFileTest, WritesTheWholeTextInThePlaceOfAnOlderOne) {
  const std::string path = PathOf("whole");
  ASSERT_TRUE(WriteFile(path, "a longer text"));

  ASSERT_TRUE(WriteFile(path, "short"));

  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "short");
}

TEST(WriteFileTest, AFullDiskIsNamedWithTheFile) {
  const auto written = WriteFile("/dev/full", "text");

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(written.error().message, "cannot write '/dev/full': No space left on device");
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

TEST(WriteFileTest, AFileThatIsCutShortDoesNotStay) {
  const std::string path = PathOf("short");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {10, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);

  const auto written = WriteFile(path, "a text of more than ten bytes");

  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(written.error().message, "cannot write '" + path + "': File too large");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(WriteFileTest, AMissingFolderIsNamed) {
  EXPECT_EQ(WriteFile("/nonexistent/file", "").error().message,
            "cannot write '/nonexistent/file': No such file or directory");
}

}  // namespace
}  // namespace eidolon::base
