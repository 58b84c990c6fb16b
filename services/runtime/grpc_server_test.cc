#include "services/runtime/grpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/method_handler.h>
#include <gtest/gtest.h>

#include <chrono>

#include "services/runtime/grpc_status.h"
#include "services/runtime/metrics_page.h"

namespace eidolon::runtime {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

// A service with one method that refuses: gRPC wants at least one.
class RefusingService final : public grpc::Service {
 public:
  RefusingService() {
    using grpc::internal::ErrorMethodHandler;
    AddMethod(new grpc::internal::RpcServiceMethod(
        "/eidolon.test.Refusing/Call", grpc::internal::RpcMethod::NORMAL_RPC,
        new ErrorMethodHandler<grpc::StatusCode::UNIMPLEMENTED>("refused")));
  }
};

TEST(GrpcServerTest, TakesAFreePortAndAcceptsConnections) {
  RefusingService service;
  auto server = GrpcServer::Start({}, {&service});
  ASSERT_TRUE(server.has_value()) << server.error().message;

  auto channel = grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials());

  EXPECT_GT(server->port(), 0);
  EXPECT_TRUE(channel->WaitForConnected(
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(60, GPR_TIMESPAN))));
}

TEST(GrpcServerTest, CountsCallsByMethodAndStatus) {
  MetricsPage page;
  RefusingService service;
  auto server = GrpcServer::Start({.registry = &page.registry()}, {&service});
  ASSERT_TRUE(server.has_value()) << server.error().message;
  auto channel = grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials());
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  grpc::ByteBuffer request, reply;
  grpc::Status status;

  auto call = stub.PrepareUnaryCall(&context, "/eidolon.test.Refusing/Call", request, &queue);
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool well = false;
  ASSERT_TRUE(queue.Next(&tag, &well));
  server->Shutdown();

  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(page.Text(), HasSubstr("eidolon_grpc_requests_total{code=\"UNIMPLEMENTED\",method="
                                     "\"eidolon.test.Refusing/Call\"} 1"));
}

TEST(GrpcServerTest, NamesAnAddressInUse) {
  RefusingService service;
  auto first = GrpcServer::Start({}, {&service});
  ASSERT_TRUE(first.has_value());

  auto second = GrpcServer::Start({.address = first->address()}, {&service});

  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr(first->address()));
}

TEST(GrpcStatusTest, EveryCodeSurvivesTheWayThroughGrpc) {
  for (const auto code :
       {ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kAlreadyExists,
        ErrorCode::kFailedPrecondition, ErrorCode::kResourceExhausted, ErrorCode::kUnavailable,
        ErrorCode::kUnsupported, ErrorCode::kCorrupt, ErrorCode::kInternal}) {
    const base::Error error{code, "gpu 'X' is unknown"};

    EXPECT_EQ(FromStatus(ToStatus(error)), error) << Name(code);
  }
}

}  // namespace
}  // namespace eidolon::runtime
