// What silent connections may not do to a gRPC server, and who may connect to it.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/method_handler.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/runtime/grpc_server.h"
#include "services/testing/raw_client.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::runtime {
namespace {

using ::testing::HasSubstr;
using testing::RawClient;

class SilentService final : public grpc::Service {
 public:
  SilentService() {
    using grpc::internal::ErrorMethodHandler;
    AddMethod(new grpc::internal::RpcServiceMethod(
        "/eidolon.test.Silent/Call", grpc::internal::RpcMethod::NORMAL_RPC,
        new ErrorMethodHandler<grpc::StatusCode::UNIMPLEMENTED>("refused")));
  }
};

bool IsServed(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel =
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  return channel->WaitForConnected(
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(20, GPR_TIMESPAN)));
}

TEST(GrpcServerLimitsTest, SilentConnectionsOfOneAddressLeaveRoomForOthers) {
  SilentService service;
  auto server = GrpcServer::Start({.limits = {.connections_max = 16, .client_connections_max = 4}},
                                  {&service});
  ASSERT_TRUE(server) << server.error().message;
  std::vector<RawClient> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(RawClient::Tcp(server->address(), "127.0.0.2"));
  // Those over the limit are closed without a byte, the others greeted.
  int greeted = 0;
  for (const RawClient& client : crowd) greeted += client.ReadSome().empty() ? 0 : 1;

  EXPECT_EQ(greeted, 4);
  EXPECT_TRUE(IsServed(server->address()));
}

TEST(GrpcServerLimitsTest, AllAddressesTogetherAreLimitedAndRoomIsGivenBack) {
  SilentService service;
  auto server = GrpcServer::Start({.limits = {.connections_max = 3, .client_connections_max = 2}},
                                  {&service});
  ASSERT_TRUE(server) << server.error().message;
  {
    const RawClient one = RawClient::Tcp(server->address(), "127.0.0.2");
    const RawClient two = RawClient::Tcp(server->address(), "127.0.0.2");
    const RawClient three = RawClient::Tcp(server->address(), "127.0.0.3");
    for (const RawClient* client : {&one, &two, &three}) EXPECT_NE(client->ReadSome(), "");
    EXPECT_EQ(RawClient::Tcp(server->address(), "127.0.0.4").ReadSome(), "");
  }

  // The server sees a moment later that they are gone; the channel tries again.
  EXPECT_TRUE(IsServed(server->address()));
}

TEST(GrpcServerLimitsTest, ASilentConnectionIsClosedAtItsDeadline) {
  SilentService service;
  auto server =
      GrpcServer::Start({.handshake_deadline = std::chrono::milliseconds(200)}, {&service});
  ASSERT_TRUE(server) << server.error().message;
  const RawClient silent = RawClient::Tcp(server->address());
  const base::SystemClock clock;

  const std::int64_t begin = clock.MonotonicNs();
  silent.ReadAll();

  // gRPC's own deadline is 120 s.
  EXPECT_LT(clock.MonotonicNs() - begin, 30'000'000'000);
}

TEST(GrpcServerLimitsTest, AUnixSocketIsItsOwnersAlone) {
  const testing::TemporaryDirectory folder;
  SilentService service;

  auto server = GrpcServer::Start({.address = "unix:" + (folder / "grpc.sock")}, {&service});

  ASSERT_TRUE(server) << server.error().message;
  struct stat status = {};
  ASSERT_EQ(stat((folder / "grpc.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(server->address(), "unix:" + (folder / "grpc.sock"));
  EXPECT_TRUE(IsServed(server->address()));
}

TEST(GrpcServerLimitsTest, AUnixSocketInAnOpenFolderOrOfALongPathIsRefused) {
  const testing::TemporaryDirectory folder;
  std::filesystem::create_directory(folder / "open");
  chmod((folder / "open").c_str(), 0755);
  SilentService service;

  const auto open = GrpcServer::Start({.address = "unix:" + (folder / "open/s")}, {&service});
  const auto longer =
      GrpcServer::Start({.address = "unix:" + (folder / std::string(108, 'x'))}, {&service});

  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("use one of mode 0700"));
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message, HasSubstr("it must have 1 to 107"));
}

TEST(GrpcServerLimitsTest, AUnixSocketThatIsServedIsNotTakenAway) {
  const testing::TemporaryDirectory folder;
  SilentService service;
  const std::string address = "unix:" + (folder / "grpc.sock");
  const auto first = GrpcServer::Start({.address = address}, {&service});
  ASSERT_TRUE(first);

  const auto second = GrpcServer::Start({.address = address}, {&service});

  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another server listens on"));
}

}  // namespace
}  // namespace eidolon::runtime
