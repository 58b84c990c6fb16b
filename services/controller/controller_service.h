// The gRPC face of the controller, for agents.
#pragma once

#include "eidolon/controller/v1/controller.grpc.pb.h"
#include "services/controller/agent_desk.h"

namespace eidolon::controller {

// One thread of the gRPC server per connected agent. Thread safe; the desk must outlive it.
class ControllerService final : public v1::ControllerService::Service {
 public:
  explicit ControllerService(AgentDesk* desk) : desk_(*desk) {}

  grpc::Status AgentSession(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ControllerCommand, v1::AgentReport>* stream) override;

 private:
  void Handle(AgentName agent, const v1::AgentReport& report);

  AgentDesk& desk_;
};

}  // namespace eidolon::controller
