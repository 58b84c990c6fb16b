// The gRPC face of the controller, for agents.
#pragma once

#include "eidolon/controller/v1/controller.grpc.pb.h"
#include "services/controller/agents/agent_handler.h"

namespace eidolon::controller::agents {

// One thread of the gRPC server per connected agent. Thread safe; the handler must outlive it.
class ControllerService final : public v1::ControllerService::Service {
 public:
  explicit ControllerService(AgentHandler* handler) : handler_(*handler) {}

  grpc::Status AgentSession(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ControllerCommand, v1::AgentReport>* stream) override;

 private:
  void Handle(AgentName agent, const v1::AgentReport& report);

  AgentHandler& handler_;
};

}  // namespace eidolon::controller::agents
