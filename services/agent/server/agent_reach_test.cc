// A whole agent whose services cannot be reached at once, or never.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "services/agent/server/agent_fixture.h"
#include "services/base/text.h"

namespace eidolon::agent::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AgentReachTest : public AgentFixture {};

// A port of this machine, as that of a Service whose endpoint is just being replaced: it cuts each
// connection.
class FailingPort {
 public:
  FailingPort() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(name);
    const bool listens = bind(listener_, reinterpret_cast<sockaddr*>(&name), bytes) == 0 &&
                         listen(listener_, 1) == 0 &&
                         getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &bytes) == 0;
    EXPECT_TRUE(listens);
    port_ = ntohs(name.sin_port);
  }
  ~FailingPort() { Close(); }
  std::string address() const { return base::StrCat("127.0.0.1:", port_); }
  void CutOne() const { close(accept(listener_, nullptr, nullptr)); }
  // From now on connections are refused.
  void Close() {
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
  }

 private:
  int listener_;
  int port_ = 0;
};

TEST_F(AgentReachTest, ANetworkServiceThatIsBeingReplacedIsWaitedFor) {
  FailingPort port;
  assignment_.set_network_address(port.address());
  patience_ = std::chrono::seconds(60);
  Start();
  port.CutOne();
  port.Close();
  auto server = runtime::GrpcServer::Start({.address = port.address()}, {&network_});
  ASSERT_TRUE(server.has_value()) << server.error().message;
  network_server_.emplace(std::move(*server));
  EndCommand(0);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_COMPLETED) << outcome.message();
}

TEST_F(AgentReachTest, AServiceThatIsNeverReachedIsNoFailureOfTheCommand) {
  FailingPort port;
  port.Close();
  assignment_.set_network_address(port.address());
  patience_ = std::chrono::milliseconds(300);
  Start();

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_SERVICE_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("the network service at " + port.address()));
  EXPECT_THAT(outcome.message(), HasSubstr("(no connection within 0.3 s)"));
  EXPECT_THAT(controller_->lines(), IsEmpty()) << "the command was not started";
}

TEST_F(AgentReachTest, ATimingServiceThatRefusesIsNoFailureOfTheCommand) {
  // As a service does that cannot check tokens yet.
  class Refusing final : public timing::v1::TimingService::Service {
    grpc::Status DescribeGpu(grpc::ServerContext*, const timing::v1::DescribeGpuRequest*,
                             timing::v1::DescribeGpuResponse*) override {
      return {grpc::StatusCode::UNAUTHENTICATED, "no key yet"};
    }
  } refusing;
  auto server = runtime::GrpcServer::Start({}, {&refusing});
  ASSERT_TRUE(server.has_value());
  assignment_.set_timing_address(server->address());
  Start();

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_SERVICE_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("no key yet"));
}

TEST_F(AgentReachTest, AnOrderToEndIsFollowedWhileAServiceIsTried) {
  FailingPort port;
  assignment_.set_network_address(port.address());
  patience_ = std::chrono::hours(1);
  Start();
  port.CutOne();
  controller_->SendStop("cancelled by its user");

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_STOPPED) << outcome.message();
  EXPECT_EQ(outcome.message(), "cancelled by its user");
}

}  // namespace
}  // namespace eidolon::agent::server
