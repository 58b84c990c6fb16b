#include "services/runtime/grpc_server.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <mutex>
#include <utility>

#include "services/base/text.h"
#include "services/runtime/call_counter.h"

namespace eidolon::runtime {

GrpcServer::GrpcServer() = default;
GrpcServer::GrpcServer(GrpcServer&&) noexcept = default;

GrpcServer& GrpcServer::operator=(GrpcServer&& other) noexcept {
  if (this != &other) {
    Shutdown();
    server_ = std::move(other.server_);
    address_ = std::move(other.address_);
    port_ = other.port_;
  }
  return *this;
}

GrpcServer::~GrpcServer() { Shutdown(); }

base::Result<GrpcServer> GrpcServer::Start(const Options& options,
                                           const std::vector<grpc::Service*>& services) {
  static std::once_flag health_once;
  std::call_once(health_once, [] { grpc::EnableDefaultHealthCheckService(true); });

  grpc::ServerBuilder builder;
  int port = 0;
  // Without this a second server would silently share the port of the first.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  if (options.registry != nullptr) {
    builder.experimental().SetInterceptorCreators(CountCalls(options.registry));
  }
  for (grpc::Service* service : services) builder.RegisterService(service);

  GrpcServer result;
  result.server_ = builder.BuildAndStart();
  if (result.server_ == nullptr || port == 0) {
    return base::Fail(
        base::ErrorCode::kUnavailable,
        base::StrCat("cannot listen on '", options.address, "': the address is wrong or in use"));
  }
  if (auto* health = result.server_->GetHealthCheckService()) health->SetServingStatus(true);
  const auto host = options.address.substr(0, options.address.rfind(':'));
  result.address_ = base::StrCat(host, ":", port);
  result.port_ = port;
  return result;
}

void GrpcServer::Shutdown(std::chrono::milliseconds grace) {
  if (server_ == nullptr) return;
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  server_->Shutdown(
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(grace.count(), GPR_TIMESPAN)));
  server_->Wait();
  server_.reset();
}

}  // namespace eidolon::runtime
