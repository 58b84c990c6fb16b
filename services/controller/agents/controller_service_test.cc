#include "services/controller/agents/controller_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "services/runtime/grpc_server.h"

namespace eidolon::controller::agents {
namespace {

// Gives every agent the same assignment, and its link to the test meanwhile.
class FakeHandler final : public AgentHandler {
 public:
  explicit FakeHandler(std::function<void(AgentLink*)> on_attach)
      : on_attach_(std::move(on_attach)) {}

  base::Result<Assignment> Attach(const std::string&, std::shared_ptr<AgentLink> link) override {
    on_attach_(link.get());
    Assignment assignment;
    assignment.job = "train";
    return assignment;
  }
  void Detach(AgentName) override {}
  void OnIteration(AgentName, const job::RankIteration&) override {}
  void OnProgress(AgentName, const job::AgentProgress&) override {}
  void OnUsage(AgentName, job::ServerUsage) override {}
  void OnLogLine(AgentName, store::LogEntry) override {}
  void OnOutput(AgentName, const outputs::Part&) override {}
  void OnOutcome(AgentName, job::AgentOutcome) override {}

 private:
  const std::function<void(AgentLink*)> on_attach_;
};

TEST(ControllerServiceTest, AStopThatComesBeforeTheAssignmentFollowsIt) {
  FakeHandler handler([](AgentLink* link) { link->SendStop("the job is deleted"); });
  ControllerService service(&handler);
  auto server = runtime::GrpcServer::Start({}, {&service});
  ASSERT_TRUE(server) << server.error().message;
  const auto stub = v1::ControllerService::NewStub(
      grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->AgentSession(&context);
  v1::AgentReport hello;
  hello.mutable_hello()->set_token("token");
  ASSERT_TRUE(stream->Write(hello));

  v1::ControllerCommand first, second;
  ASSERT_TRUE(stream->Read(&first));
  ASSERT_TRUE(stream->Read(&second));

  EXPECT_EQ(first.assignment().job(), "train") << first.DebugString();
  EXPECT_EQ(second.stop().reason(), "the job is deleted") << second.DebugString();
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  server->Shutdown();
}

}  // namespace
}  // namespace eidolon::controller::agents
