#include "services/controller/http/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "services/testing/temporary_directory.h"

namespace eidolon::controller::http {
namespace {

using ::testing::HasSubstr;

class ListenUnixTest : public ::testing::Test {
 protected:
  testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "a.sock";
};

TEST_F(ListenUnixTest, ReplacesASocketThatNoProcessListensOn) {
  ASSERT_TRUE(http::ListenUnix(path_));
  ASSERT_TRUE(std::filesystem::is_socket(path_)) << "closing leaves it";

  const auto again = http::ListenUnix(path_);

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(ListenUnixTest, RefusesASocketOnWhichAnotherListens) {
  const auto first = http::ListenUnix(path_);
  ASSERT_TRUE(first) << first.error().message;

  for (int i = 0; i < 2; ++i) {
    const auto second = http::ListenUnix(path_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, base::ErrorCode::kAlreadyExists);
    EXPECT_THAT(second.error().message, HasSubstr("another process listens"));
  }
}

TEST_F(ListenUnixTest, RemovesNothingThatIsNoSocket) {
  std::ofstream(path_) << "precious";
  const std::string link = folder_ / "link.sock";
  std::filesystem::create_symlink(path_, link);

  for (const std::string& path : {path_, link}) {
    const auto refused = http::ListenUnix(path);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, base::ErrorCode::kFailedPrecondition);
    EXPECT_THAT(refused.error().message, HasSubstr("is not a socket"));
  }
  std::ifstream file(path_);
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()),
            "precious");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

}  // namespace
}  // namespace eidolon::controller::http
