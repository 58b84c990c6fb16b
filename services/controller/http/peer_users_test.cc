#include "services/controller/http/peer_users.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "services/controller/http/listener.h"
#include "services/testing/raw_client.h"

namespace eidolon::controller::http {
namespace {

constexpr uid_t kNobody = 65534;

// A listener and the connections that it accepts; accepting waits.
class PeerUsersTest : public ::testing::TestWithParam<const char*> {
 protected:
  PeerUsersTest() : listener_(std::move(*ListenTcp(GetParam(), 0))) {}

  Descriptor Accept() const {
    pollfd waits = {listener_.descriptor.get(), POLLIN, 0};
    poll(&waits, 1, -1);
    return Descriptor(accept4(listener_.descriptor.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  testing::RawClient Connect() const {
    return testing::RawClient::Tcp("127.0.0.1:" + std::to_string(listener_.port));
  }

  Listener listener_;
};

TEST_P(PeerUsersTest, NamesTheUserOfAProcessOfThisMachine) {
  const auto client = Connect();
  ASSERT_TRUE(client.connected());
  const Descriptor accepted = Accept();
  PeerUsers users;

  EXPECT_EQ(users.Find(accepted.get()), geteuid());
  EXPECT_EQ(users.Find(accepted.get()), geteuid());
}

TEST_P(PeerUsersTest, NamesAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(2);
    const auto client = Connect();
    pause();
    _exit(0);
  }
  const Descriptor accepted = Accept();
  PeerUsers users;

  EXPECT_EQ(users.Find(accepted.get()), kNobody);

  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_P(PeerUsersTest, TakesASocketThatItsOwnerHasClosedForNobodys) {
  Descriptor accepted;
  {
    const auto client = Connect();
    accepted = Accept();
  }
  PeerUsers users;

  // Root, says the kernel, whoever it was.
  EXPECT_EQ(users.Find(accepted.get()), std::nullopt);
  EXPECT_EQ(users.Find(-1), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(, PeerUsersTest, ::testing::Values("127.0.0.1", "0.0.0.0"),
                         [](const auto& row) {
                           return row.param[0] == '1' ? "Loopback" : "Everywhere";
                         });

}  // namespace
}  // namespace eidolon::controller::http
