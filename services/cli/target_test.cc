#include "services/cli/target.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "services/testing/temporary_directory.h"

namespace eidolon::cli {
namespace {

// An `eidolon up` as commands see it: an address, and a socket that somebody listens on.
class TargetTest : public ::testing::Test {
 protected:
  ~TargetTest() override {
    if (socket_ >= 0) close(socket_);
  }

  void Listen() {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ / "eidolon.sock";
    std::copy(path.begin(), path.end(), address.sun_path);
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(socket_, 8), 0);
    std::ofstream(folder_ / "address") << "127.0.0.1:4567\n";
  }

  base::Result<Target> Find(const std::string& server, const std::string& token_file = "") {
    Globals globals;
    globals.server = server;
    globals.data_directory = folder_.path();
    globals.token_file = token_file;
    return FindTarget(globals);
  }

  const testing::TemporaryDirectory folder_;
  int socket_ = -1;
};

TEST_F(TargetTest, TheOwnServerIsReachedByItsSocketWithoutAToken) {
  Listen();

  for (const char* server : {"", "127.0.0.1:4567", "http://127.0.0.1:4567"}) {
    const auto target = Find(server);
    ASSERT_TRUE(target);
    EXPECT_EQ(target->socket, folder_ / "eidolon.sock") << server;
    EXPECT_EQ(target->token, "") << server;
  }
}

TEST_F(TargetTest, AnotherServerIsReachedByItsAddress) {
  Listen();

  const auto target = Find("http://127.0.0.1:9999");

  EXPECT_EQ(target->socket, "");
  EXPECT_EQ(target->server, "http://127.0.0.1:9999");
}

TEST_F(TargetTest, WithoutAServerThatRunsTheUsualAddressCounts) {
  Listen();
  close(socket_);
  socket_ = -1;

  const auto target = Find("");

  EXPECT_EQ(target->socket, "");
  EXPECT_EQ(target->server, "http://127.0.0.1:8080");
}

TEST_F(TargetTest, ATokenGoesOnlyWhereItsUserSays) {
  std::ofstream(folder_ / "token") << "secret\n";

  EXPECT_EQ(Find("http://127.0.0.1:9999")->token, "");
  EXPECT_EQ(Find("http://127.0.0.1:9999", folder_ / "token")->token, "secret");
  EXPECT_FALSE(Find("http://127.0.0.1:9999", folder_ / "none"));
}

TEST_F(TargetTest, APipeAsTokenFileIsRefusedInsteadOfWaitedFor) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);

  const auto target = Find("http://127.0.0.1:9999", path);

  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().message,
            "--token-file: cannot read " + path + ": it is a pipe, not a regular file");
}

}  // namespace
}  // namespace eidolon::cli
