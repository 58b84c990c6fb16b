// The gRPC face of the controller, for agents.
#pragma once

#include "eidolon/controller/v1/controller.grpc.pb.h"
#include "services/controller/controller.h"

namespace eidolon::controller {

// One thread of the gRPC server per connected agent. Thread safe; the controller must outlive it.
class ControllerService final : public v1::ControllerService::Service {
 public:
  explicit ControllerService(Controller* controller) : controller_(*controller) {}

  grpc::Status AgentSession(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ControllerCommand, v1::AgentReport>* stream) override;

 private:
  void Handle(AgentName agent, const v1::AgentReport& report);

  Controller& controller_;
};

}  // namespace eidolon::controller
