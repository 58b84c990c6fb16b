// A whole controller: where it listens, and what it leaves.
#include "services/controller/embedded/controller_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "services/base/clock.h"
#include "services/testing/raw_client.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::embedded {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::RawClient;

// "socket:[inode]" of the TCP sockets of this process that listen.
std::set<std::string> TcpListenersOfThisProcess() {
  std::set<std::string> own, found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    own.insert(fs::read_symlink(entry, gone).string());
  }
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
          timeout >> inode;
      const std::string link = "socket:[" + inode + "]";
      if (state == "0A" && own.contains(link)) found.insert(link);
    }
  }
  return found;
}

class ControllerHostTest : public ::testing::Test {
 protected:
  std::unique_ptr<ControllerHost> Start(ControllerHostOptions options) {
    options.timing_address = "unix:" + (root_ / "timing");
    options.network_address = "unix:" + (root_ / "network");
    if (options.data_directory.empty()) options.data_directory = root_ / "data";
    options.run_root = root_ / "r";
    options.agent = "/bin/true";
    auto host = ControllerHost::Start(options, clock_, registry_.get(), [] { return ""; });
    EXPECT_TRUE(host) << host.error().message;
    return host ? std::move(*host) : nullptr;
  }

  testing::TemporaryDirectory root_;
  base::SystemClock clock_;
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
};

TEST_F(ControllerHostTest, ListensOnNoTcpPortForAgents) {
  const auto before = TcpListenersOfThisProcess();
  {
    const auto host = Start({.rest_address = "127.0.0.1:0"});
    ASSERT_NE(host, nullptr);

    EXPECT_EQ(TcpListenersOfThisProcess().size(), before.size() + 1) << "REST alone";
    std::size_t sockets = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "r")) {
      struct stat status = {};
      ASSERT_EQ(lstat(entry.path().c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 077, 0u) << entry.path();
      if (S_ISSOCK(status.st_mode)) ++sockets;
    }
    EXPECT_EQ(sockets, 1u);
  }
  EXPECT_TRUE(fs::is_empty(root_ / "r")) << "the folder of the socket is left";
}

TEST_F(ControllerHostTest, WithoutAnAddressUsersComeOverTheUnixSocket) {
  const auto before = TcpListenersOfThisProcess();

  const auto host = Start({.rest_address = ""});

  ASSERT_NE(host, nullptr);
  EXPECT_EQ(TcpListenersOfThisProcess(), before);
  EXPECT_EQ(host->socket(), root_ / "data/eidolon.sock");
  const RawClient client = RawClient::Unix(host->socket());
  client.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), HasSubstr("ok\n"));
}

TEST_F(ControllerHostTest, ATokenThatOthersCouldReadIsReplaced) {
  const std::string first = Start({.rest_address = ""})->token();
  EXPECT_EQ(Start({.rest_address = ""})->token(), first) << "it is kept from start to start";
  ASSERT_EQ(chmod((root_ / "data/token").c_str(), 0644), 0);

  const std::string second = Start({.rest_address = ""})->token();

  EXPECT_NE(second, first);
  struct stat status = {};
  ASSERT_EQ(stat((root_ / "data/token").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_NE(Start({.rest_address = "", .rotate_token = true})->token(), second);
}

TEST_F(ControllerHostTest, TheLinkHoldsACodeAndNotTheToken) {
  const auto host = Start({.rest_address = "127.0.0.1:0"});
  ASSERT_NE(host, nullptr);

  const std::string link = host->MakeLink();

  EXPECT_THAT(link, ::testing::MatchesRegex("http://127.0.0.1:[0-9]+/#login=[0-9a-f]{64}"));
  EXPECT_THAT(link, ::testing::Not(HasSubstr(host->token())));
  EXPECT_NE(host->MakeLink(), link);
}

TEST_F(ControllerHostTest, ADataFolderTooDeepForASocketUsesTheSpareOne) {
  ControllerHostOptions options;
  options.rest_address.clear();
  options.data_directory = root_ / std::string(100, 'd');
  options.spare_socket = root_ / "rest.sock";

  const auto host = Start(options);

  ASSERT_NE(host, nullptr);
  EXPECT_EQ(host->socket(), root_ / "rest.sock");
  EXPECT_TRUE(RawClient::Unix(host->socket()).connected());
}

}  // namespace
}  // namespace eidolon::controller::embedded
