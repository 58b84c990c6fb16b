#include "services/base/regular_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace eidolon::base {
namespace {

namespace fs = std::filesystem;

class RegularFileTest : public ::testing::Test {
 protected:
  ~RegularFileTest() override { fs::remove_all(folder_); }
  static std::string MakeFolder() {
    char path[] = "/tmp/eidolon-file-XXXXXX";
    return mkdtemp(path);
  }
  static std::string Refusal(const std::string& path) {
    const auto read = ReadRegularFile(path);
    return read ? "read: " + *read : read.error().message;
  }

  const std::string folder_ = MakeFolder();
  const std::string path_ = folder_ + "/file";
};

TEST_F(RegularFileTest, ReadsAllOfAFileAlsoThroughALink) {
  const std::string text(200'000, 'x');
  std::ofstream(path_) << text;
  fs::create_symlink(path_, folder_ + "/link");

  EXPECT_EQ(*ReadRegularFile(path_), text);
  EXPECT_EQ(*ReadRegularFile(folder_ + "/link"), text);
}

TEST_F(RegularFileTest, APipeThatNobodyWritesToIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);

  EXPECT_EQ(Refusal(path_), "cannot read " + path_ + ": it is a pipe, not a regular file");
}

TEST_F(RegularFileTest, FoldersDevicesAndSocketsAreRefused) {
  EXPECT_EQ(Refusal(folder_), "cannot read " + folder_ + ": it is a folder, not a regular file");
  EXPECT_EQ(Refusal("/dev/zero"), "cannot read /dev/zero: it is a device, not a regular file");
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);

  EXPECT_EQ(Refusal(path_), "cannot read " + path_ + ": it is not a regular file");
  close(listener);
}

TEST_F(RegularFileTest, AFileThatIsNotThereIsNamed) {
  EXPECT_EQ(Refusal(path_), "cannot read " + path_ + ": No such file or directory");
}

}  // namespace
}  // namespace eidolon::base
