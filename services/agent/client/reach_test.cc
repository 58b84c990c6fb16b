// Clients of services whose names do not resolve at once, or that refuse connections at first.
#include "services/agent/client/reach.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <netdb.h>
#include <stdlib.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "eidolon/network/v1/network.grpc.pb.h"
#include "services/agent/client/network_client.h"
#include "services/base/text.h"
#include "services/runtime/grpc_server.h"

namespace {

constexpr std::string_view kName = "pod-network.team.svc";
std::atomic<int> failures_left{0};
std::atomic<int> lookups{0};

}  // namespace

// In the place of the C library's, which gRPC's native resolver calls: a name server that loses
// questions about kName, and then knows it as this machine.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  using Lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Lookup>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node == nullptr || node != kName) return real(node, service, hints, found);
  ++lookups;
  if (failures_left > 0) {
    --failures_left;
    return EAI_AGAIN;
  }
  return real("127.0.0.1", service, hints, found);
}

namespace eidolon::agent::client {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Before gRPC starts: its other resolver asks name servers by itself.
const bool kIsNative = setenv("GRPC_DNS_RESOLVER", "native", 1) == 0;

// Greets each session, and ends it when the agent does.
class GreetingNetwork final : public network::v1::NetworkService::Service {
 public:
  grpc::Status Session(grpc::ServerContext*,
                       grpc::ServerReaderWriter<network::v1::SessionResponse,
                                                network::v1::SessionRequest>* stream) override {
    network::v1::SessionRequest request;
    while (stream->Read(&request)) {
      if (request.has_hello()) stream->Write({});
    }
    return grpc::Status::OK;
  }
};

class ReachTest : public ::testing::Test {
 protected:
  ReachTest() { failures_left = lookups = 0; }

  NetworkClient::Options OptionsOf(const std::string& address) {
    return {.address = address,
            .job = "job-1",
            .token = "",
            .on_message = [this](const auto&) { is_greeted_ = true; },
            .on_end = [this](const base::Error& error) { end_ = error.message; }};
  }
  void AwaitAnyMail() {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, std::chrono::seconds(60), [&] { return has_mail_; });
    for (const auto& task : mailbox_.TakeAll()) task();
  }

  std::mutex mutex_;  // Guards has_mail_.
  std::condition_variable came_;
  bool has_mail_ = false;
  Mailbox mailbox_{[this] {
    {
      const std::lock_guard lock(mutex_);
      has_mail_ = true;
    }
    came_.notify_all();
  }};
  bool is_greeted_ = false;
  std::string end_;
};

TEST_F(ReachTest, AFailedNameLookupIsRepeatedAndEndsNoSession) {
  ASSERT_TRUE(kIsNative);
  GreetingNetwork service;
  const auto server = runtime::GrpcServer::Start({}, {&service});
  ASSERT_TRUE(server.has_value());
  failures_left = 1;
  NetworkClient client(OptionsOf(base::StrCat(kName, ":", server->port())), &mailbox_);

  const auto opened = client.Open({.limit = std::chrono::seconds(30), .is_cancelled = nullptr});
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  AwaitAnyMail();

  EXPECT_TRUE(is_greeted_) << end_;
  EXPECT_EQ(end_, "");
  EXPECT_GE(lookups, 2);
}

TEST_F(ReachTest, ANameThatNeverResolvesIsNamedWithTheTimeThatWasSpent) {
  failures_left = 1'000'000;
  NetworkClient client(OptionsOf(base::StrCat(kName, ":7403")), &mailbox_);

  const auto opened = client.Open({.limit = milliseconds(300), .is_cancelled = nullptr});

  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(opened.error().message,
              HasSubstr("the network service at pod-network.team.svc:7403"));
  EXPECT_THAT(opened.error().message, HasSubstr("(no connection within 0.3 s)"));
}

TEST_F(ReachTest, AWaitEndsWhenItsOwnerHasSomethingElseToDo) {
  failures_left = 1'000'000;
  NetworkClient client(OptionsOf(base::StrCat(kName, ":7403")), &mailbox_);
  int asked = 0;

  const auto opened = client.Open(
      {.limit = std::chrono::hours(1), .is_cancelled = [&asked] { return ++asked == 2; }});

  EXPECT_FALSE(opened.has_value());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace eidolon::agent::client
