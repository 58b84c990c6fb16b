#include "services/agent/ring/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "services/base/text.h"

namespace eidolon::agent::ring {
namespace {

using ::testing::HasSubstr;

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() {
    char path[] = "/tmp/eidolon-listener-XXXXXX";
    directory_ = mkdtemp(path);
    listener_ = Listen(directory_).value();
    client_ = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string socket_path = directory_ + "/agent.sock";
    socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(client_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    server_ = Accept(listener_).value();
  }
  ~ListenerTest() override {
    close(client_);
    close(server_);
    close(listener_);
    unlink((directory_ + "/agent.sock").c_str());
    rmdir(directory_.c_str());
  }
  void Say(const wire::Hello& hello) { send(client_, &hello, sizeof(hello), 0); }

  std::string directory_;
  int listener_ = -1;
  int client_ = -1;
  int server_ = -1;
};

TEST_F(ListenerTest, ReadsAHelloAndHandsOverDescriptors) {
  Say({.magic = wire::kMagic, .version = wire::kVersion, .pid = 12, .rank = 3});

  const auto hello = ReadHello(server_);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->rank, 3);
  ASSERT_TRUE(
      SendWelcome(server_, {.segment = STDIN_FILENO, .doorbell = STDOUT_FILENO}).has_value());

  wire::Welcome welcome{};
  ASSERT_EQ(recv(client_, &welcome, sizeof(welcome), 0), static_cast<ssize_t>(sizeof(welcome)));
  EXPECT_EQ(welcome.accepted, 1u);
}

TEST_F(ListenerTest, TellsAVirtualSleepFromAHello) {
  Say({.magic = wire::kMagic, .version = wire::kVersion, .pid = 12, .rank = 3});
  EXPECT_FALSE(TakeVirtualSleep(server_).has_value());
  EXPECT_TRUE(ReadHello(server_).has_value()) << "it was left there";
  const wire::VirtualSleep virtual_sleep{.magic = wire::kVirtualSleepMagic,
                                         .version = wire::kVersion,
                                         .pid = 12,
                                         .moment_ps = 0,
                                         .length_ps = 77,
                                         .patience_ns = 0};
  send(client_, &virtual_sleep, sizeof(virtual_sleep), 0);

  const auto taken = TakeVirtualSleep(server_);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->length_ps, 77u);
  SendVirtualSleepEnd(server_, true);

  wire::VirtualSleepEnd end{};
  ASSERT_EQ(recv(client_, &end, sizeof(end), 0), static_cast<ssize_t>(sizeof(end)));
  EXPECT_EQ(end.passed, 1u);
}

TEST_F(ListenerTest, RefusesAnotherVersionByName) {
  Say({.magic = wire::kMagic, .version = 99});

  EXPECT_THAT(ReadHello(server_).error().message, HasSubstr("version 99"));
}

TEST_F(ListenerTest, RefusesStrangers) {
  send(client_, "GET /", 5, 0);

  EXPECT_THAT(ReadHello(server_).error().message, HasSubstr("did not begin with a hello"));
}

TEST_F(ListenerTest, ARefusalCarriesItsReason) {
  SendRefusal(server_, "server 1 has 4 GPUs");

  wire::Welcome welcome{};
  ASSERT_EQ(recv(client_, &welcome, sizeof(welcome), 0), static_cast<ssize_t>(sizeof(welcome)));
  EXPECT_EQ(welcome.accepted, 0u);
  EXPECT_STREQ(welcome.reason, "server 1 has 4 GPUs");
}

TEST(ListenTest, NamesARunDirectoryThatIsTooLong) {
  EXPECT_THAT(Listen(std::string(200, 'x')).error().message, HasSubstr("too long for a socket"));
}

}  // namespace
}  // namespace eidolon::agent::ring
