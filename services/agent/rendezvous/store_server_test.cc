#include "services/agent/rendezvous/store_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace eidolon::agent::rendezvous {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Speaks as TCPStore's client.
class Client {
 public:
  Client() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {}
  explicit Client(std::uint16_t port) : Client() { Connect(port); }

  void Connect(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    const std::uint32_t magic = 0x3C85F7CE;
    std::string hello(1, '\0');
    hello.append(reinterpret_cast<const char*>(&magic), sizeof(magic));
    Send(hello);
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Send(const std::string& bytes) {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string Receive(std::size_t bytes) {
    std::string all(bytes, '\0');
    const ssize_t got = recv(socket_, all.data(), bytes, MSG_WAITALL);
    all.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return all;
  }
  std::int64_t ReceiveNumber() {
    std::int64_t number = 0;
    const std::string bytes = Receive(sizeof(number));
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }

  void Set(const std::string& key, const std::string& value) {
    std::string bytes = {static_cast<char>(Operation::kSet)};
    AppendText(&bytes, key);
    AppendText(&bytes, value);
    Send(bytes);
  }
  void BeginWait(const std::string& key) {
    std::string bytes = {static_cast<char>(Operation::kWait)};
    AppendNumber(&bytes, 1);
    AppendText(&bytes, key);
    Send(bytes);
  }
  std::string Get(const std::string& key) {
    std::string bytes = {static_cast<char>(Operation::kGet)};
    AppendText(&bytes, key);
    Send(bytes);
    return Receive(static_cast<std::size_t>(ReceiveNumber()));
  }
  std::int64_t Add(const std::string& key, std::int64_t amount) {
    std::string bytes = {static_cast<char>(Operation::kAdd)};
    AppendText(&bytes, key);
    AppendNumber(&bytes, amount);
    Send(bytes);
    return ReceiveNumber();
  }

 private:
  int socket_;
};

class StoreServerTest : public ::testing::Test {
 protected:
  StoreServerTest() {
    auto server =
        StoreServer::Start({.address = "127.0.0.1", .world = {.size = 8, .live = {0, 7}}});
    EXPECT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  std::unique_ptr<StoreServer> server_;
};

TEST_F(StoreServerTest, OneRankReadsWhatAnotherSets) {
  Client writer(server_->port());
  Client reader(server_->port());
  reader.BeginWait("/key");
  writer.Set("/key", "value");

  EXPECT_EQ(reader.Receive(1), std::string(1, '\0'));
  EXPECT_EQ(reader.Get("/key"), "value");
  EXPECT_EQ(writer.Add("/n", 2) + reader.Add("/n", 3), 7);
}

TEST_F(StoreServerTest, MirroredRanksCountInABarrier) {
  Client first(server_->port());
  Client last(server_->port());
  EXPECT_EQ(first.Add("/store_based_barrier_key:1", 1), 1);
  EXPECT_EQ(last.Add("/store_based_barrier_key:1", 1), 8);
}

TEST_F(StoreServerTest, UniqueIdsNeedNoMirroredRank) {
  Client rank(server_->port());
  rank.BeginWait("/2//cuda//0");

  EXPECT_EQ(rank.Receive(1), std::string(1, '\0'));
  EXPECT_EQ(rank.Get("/2//cuda//0").size(), 128u);
}

TEST_F(StoreServerTest, WhatNobodySetsIsNamed) {
  Client rank(server_->port());
  EXPECT_THAT(server_->DescribeWaits(), IsEmpty());
  rank.BeginWait("/from/a/ghost");
  rank.Send({static_cast<char>(Operation::kCancelWait)});
  EXPECT_EQ(rank.Receive(1), "\x01");
  rank.BeginWait("/from/a/ghost");
  EXPECT_EQ(Client(server_->port()).Add("/n", 1), 1);  // The wait was read before this.

  EXPECT_THAT(server_->DescribeWaits(), ElementsAre(HasSubstr("'/from/a/ghost'")));
}

TEST_F(StoreServerTest, AStrangerIsSentAwayAndTheOthersGoOn) {
  Client rank(server_->port());
  Client stranger(server_->port());
  stranger.Send("GET / HTTP/1.1\r\n\r\n");

  EXPECT_EQ(stranger.Receive(1), "");
  EXPECT_EQ(rank.Add("/n", 1), 1);
}

TEST_F(StoreServerTest, AnUnknownRequestIsNamedInTheLog) {
  Client rank(server_->port());
  ::testing::internal::CaptureStderr();
  rank.Send("\x13");

  EXPECT_EQ(rank.Receive(1), "");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("rendezvous_refused"), HasSubstr("operation 19 is unknown")));
}

TEST_F(StoreServerTest, WhoTakesNoAnswersGetsThemAllLater) {
  constexpr int kAsked = 1'000;
  const std::string value(1 << 20, 'v');
  Client slow(server_->port());
  slow.Set("/large", value);
  std::string ask = {static_cast<char>(Operation::kGet)};
  AppendText(&ask, "/large");
  for (int i = 0; i < kAsked; ++i) slow.Send(ask);
  EXPECT_EQ(Client(server_->port()).Add("/n", 1), 1);  // The others go on.

  for (int i = 0; i < kAsked; ++i) {
    ASSERT_EQ(slow.ReceiveNumber(), static_cast<std::int64_t>(value.size())) << i;
    ASSERT_EQ(slow.Receive(value.size()), value) << i;
  }
}

// Limits descriptors to those that are open now.
class DescriptorLimit {
 public:
  DescriptorLimit() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

std::int64_t ProcessCpuMs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000 +
         (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1'000;
}

TEST_F(StoreServerTest, WithoutDescriptorsItWaitsAndSaysSoOnce) {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "the sanitizer's check of an object's type needs descriptors itself";
#endif
#endif
  constexpr int kMs = 1'000;
  auto late = std::make_unique<Client>();
  const auto port = server_->port();
  ::testing::internal::CaptureStderr();
  std::int64_t used_ms = 0;
  {
    const DescriptorLimit limit;
    late->Connect(port);
    const std::int64_t before_ms = ProcessCpuMs();
    poll(nullptr, 0, kMs);
    used_ms = ProcessCpuMs() - before_ms;
  }
  EXPECT_EQ(late->Add("/n", 1), 1);

  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_LT(used_ms, kMs / 5);
  EXPECT_THAT(said, HasSubstr("rendezvous_accepts_nobody reason=\"Too many open files\""));
  EXPECT_EQ(said.find("rendezvous_accepts_nobody"), said.rfind("rendezvous_accepts_nobody"));
}

TEST(StoreServerStartTest, AnAddressThatIsNotThisMachinesIsNamed) {
  const auto server = StoreServer::Start({.address = "192.0.2.1"});

  ASSERT_FALSE(server.has_value());
  EXPECT_THAT(server.error().message, HasSubstr("192.0.2.1"));
}

}  // namespace
}  // namespace eidolon::agent::rendezvous
