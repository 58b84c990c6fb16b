#include "shim/program/channel/channel_key.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>

namespace eidolon::shim::channel {
namespace {

// Both directions of a connection, each named alike by its two ends.
void ExpectTwoDirections(int a, int b) {
  EXPECT_NE(SendingKey(a), 0u);
  EXPECT_EQ(SendingKey(a), ReceivingKey(b));
  EXPECT_EQ(SendingKey(b), ReceivingKey(a));
  EXPECT_NE(SendingKey(a), SendingKey(b));
}

TEST(ChannelKeyTest, BothEndsOfAPipeAreOneChannel) {
  std::array<int, 2> first, second;
  ASSERT_EQ(pipe(first.data()), 0);
  ASSERT_EQ(pipe(second.data()), 0);

  EXPECT_NE(SendingKey(first[1]), 0u);
  EXPECT_EQ(SendingKey(first[1]), ReceivingKey(first[0]));
  EXPECT_NE(SendingKey(first[1]), SendingKey(second[1]));
  const int copy = dup(first[1]);
  EXPECT_EQ(SendingKey(copy), SendingKey(first[1]));
  for (const int file : {first[0], first[1], second[0], second[1], copy}) close(file);
}

TEST(ChannelKeyTest, APairOfSocketsHasTwoDirections) {
  std::array<int, 2> ends;
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    ASSERT_EQ(socketpair(AF_UNIX, type, 0, ends.data()), 0);
    ExpectTwoDirections(ends[0], ends[1]);
    for (const int file : ends) close(file);
  }
}

TEST(ChannelKeyTest, ABoundSocketsConnectionHasTwoDirectionsOnceItIsAccepted) {
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string name = "eidolon-channel-key-" + std::to_string(getpid());
  name.copy(&address.sun_path[1], name.size());  // The leading zero: no file.
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(server, 1), 0);
  const int client = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);

  const std::uint64_t early = SendingKey(client);
  EXPECT_EQ(ReceivingKey(client), 0u);
  const int accepted = accept(server, nullptr, nullptr);

  ExpectTwoDirections(client, accepted);
  EXPECT_EQ(ReceivingKey(accepted), early);
  for (const int file : {server, client, accepted}) close(file);
}

void ExpectTcp(int family, const sockaddr* any, socklen_t size) {
  const int server = socket(family, SOCK_STREAM, 0);
  ASSERT_EQ(bind(server, any, size), 0);
  ASSERT_EQ(listen(server, 1), 0);
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  ASSERT_EQ(getsockname(server, reinterpret_cast<sockaddr*>(&bound), &length), 0);
  const auto port = family == AF_INET ? reinterpret_cast<sockaddr_in*>(&bound)->sin_port
                                      : reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port;
  // The client speaks the older version of IP in either case.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(SendingKey(client), 0u);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const int accepted = accept(server, nullptr, nullptr);

  EXPECT_EQ(SendingKey(server), 0u);
  ExpectTwoDirections(client, accepted);
  for (const int file : {server, client, accepted}) close(file);
}

TEST(ChannelKeyTest, ATcpConnectionHasTwoDirections) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ExpectTcp(AF_INET, reinterpret_cast<sockaddr*>(&any), sizeof(any));
}

TEST(ChannelKeyTest, AServerOfTheNewerIpNamesItsClientOfTheOlderOneAlike) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_any;
  ExpectTcp(AF_INET6, reinterpret_cast<sockaddr*>(&any), sizeof(any));
}

TEST(ChannelKeyTest, FilesTerminalsAndDatagramsAreNoChannels) {
  const int file = open("/proc/self/exe", O_RDONLY);
  const int null = open("/dev/null", O_RDWR);
  std::array<int, 2> datagrams;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams.data()), 0);

  for (const int other : {file, null, datagrams[0], -1}) {
    errno = 0;
    EXPECT_EQ(SendingKey(other), 0u);
    EXPECT_EQ(ReceivingKey(other), 0u);
    EXPECT_EQ(errno, 0);
  }
  for (const int other : {file, null, datagrams[0], datagrams[1]}) close(other);
}

}  // namespace
}  // namespace eidolon::shim::channel
