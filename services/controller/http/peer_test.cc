#include "services/controller/http/peer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "services/controller/http/descriptor.h"
#include "services/controller/http/listener.h"
#include "services/testing/raw_client.h"

namespace eidolon::controller::http {
namespace {

TEST(PeerTest, NamesTheUserOfAUnixSocket) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const Descriptor one(pair[0]);
  const Descriptor other(pair[1]);

  const auto peer = PeerOf(one.get());

  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->address, "unix:" + std::to_string(getuid()));
  EXPECT_EQ(UserOf(peer->address), getuid());
}

TEST(PeerTest, NamesTheAddressOfATcpSocket) {
  const auto listener = ListenTcp("127.0.0.1", 0);
  ASSERT_TRUE(listener) << listener.error().message;
  const auto client =
      testing::RawClient::Tcp("127.0.0.1:" + std::to_string(listener->port), "127.0.0.3");
  ASSERT_TRUE(client.connected());
  const Descriptor accepted(accept(listener->descriptor.get(), nullptr, nullptr));

  EXPECT_EQ(PeerOf(accepted.get())->address, "127.0.0.3");
  EXPECT_FALSE(PeerOf(listener->descriptor.get()));
}

TEST(PeerTest, TakesNoOtherAddressForAUser) {
  for (const char* address : {"127.0.0.1", "", "unix:", "unix:-1", "unix:1x", "UNIX:0"}) {
    EXPECT_FALSE(UserOf(address)) << address;
  }
}

TEST(PeerTest, CountsANetworkOfIpv6AsOneClient) {
  EXPECT_EQ(ClientOf("2001:db8:1:2:3::4"), "2001:db8:1:2::/64");
  EXPECT_EQ(ClientOf("2001:db8:1:2::"), ClientOf("2001:db8:1:2:ffff::1"));
  EXPECT_EQ(ClientOf("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(ClientOf("unix:1000"), "unix:1000");
}

}  // namespace
}  // namespace eidolon::controller::http
