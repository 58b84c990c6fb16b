// A TCP server does not listen through gRPC: TcpFront accepts, so that it can bound connections,
// and hands descriptors to gRPC's acceptor. The order of calls follows from that. The acceptor must
// exist before the server is built, the front accepts only once the server runs, and it stops
// before the server ends, because no descriptor may be handed to a server that is gone. The
// acceptor is destroyed after the server. A Unix socket is bound by gRPC itself, with the mode that
// the process's umask gives, and closed to others a moment later; until then its folder's mode
// protects it.
#include "services/runtime/grpc_server.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <mutex>
#include <utility>

#include "services/base/text.h"
#include "services/runtime/call_counter.h"
#include "services/runtime/unix_address.h"

namespace eidolon::runtime {

struct GrpcServer::Door {
  explicit Door(const TcpLimits& limits) : front(limits) {}
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  TcpFront front;
};

GrpcServer::GrpcServer() = default;
GrpcServer::GrpcServer(GrpcServer&&) noexcept = default;

GrpcServer& GrpcServer::operator=(GrpcServer&& other) noexcept {
  if (this != &other) {
    Shutdown();
    server_ = std::move(other.server_);
    door_ = std::move(other.door_);
    address_ = std::move(other.address_);
    port_ = other.port_;
  }
  return *this;
}

GrpcServer::~GrpcServer() { Shutdown(); }

base::Result<void> GrpcServer::Listen(const Options& options, grpc::ServerBuilder* builder) {
  const auto credentials = grpc::InsecureServerCredentials();
  if (const auto path = SocketPathOf(options.address)) {
    if (auto may = CheckSocketPath(*path); !may) return may;
    builder->AddListeningPort(options.address, credentials);
    address_ = options.address;
    return {};
  }
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              static_cast<int>(options.handshake_deadline.count()));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                              static_cast<int>(options.idle_deadline.count()));
  door_ = std::make_unique<Door>(options.limits);
  const auto port = door_->front.Listen(options.address);
  if (!port) return std::unexpected(port.error());
  using Experimental = grpc::ServerBuilder::experimental_type;
  door_->acceptor = builder->experimental().AddExternalConnectionAcceptor(
      Experimental::ExternalConnectionType::FROM_FD, credentials);
  port_ = *port;
  address_ = base::StrCat(options.address.substr(0, options.address.rfind(':')), ":", port_);
  return {};
}

base::Result<GrpcServer> GrpcServer::Start(const Options& options,
                                           const std::vector<grpc::Service*>& services) {
  static std::once_flag health_once;
  std::call_once(health_once, [] { grpc::EnableDefaultHealthCheckService(true); });

  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  if (options.registry != nullptr) {
    builder.experimental().SetInterceptorCreators(CountCalls(options.registry));
  }
  for (grpc::Service* service : services) builder.RegisterService(service);

  GrpcServer result;
  if (auto listens = result.Listen(options, &builder); !listens) {
    return std::unexpected(listens.error());
  }
  result.server_ = builder.BuildAndStart();
  if (result.server_ == nullptr) {
    return base::Fail(base::ErrorCode::kUnavailable,
                      base::StrCat("cannot serve gRPC on '", options.address, "'"));
  }
  if (const auto path = SocketPathOf(options.address)) {
    if (auto closed = CloseSocketToOthers(*path); !closed) return std::unexpected(closed.error());
  }
  if (auto* health = result.server_->GetHealthCheckService()) health->SetServingStatus(true);
  if (result.door_ != nullptr) {
    result.door_->front.Start([acceptor = result.door_->acceptor.get()](int descriptor) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.fd = descriptor;
      acceptor->HandleNewConnection(&connection);
    });
  }
  return result;
}

void GrpcServer::Shutdown(std::chrono::milliseconds grace) {
  if (server_ == nullptr) return;
  if (door_ != nullptr) door_->front.Stop();
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  server_->Shutdown(
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(grace.count(), GPR_TIMESPAN)));
  server_->Wait();
  server_.reset();
  door_.reset();
}

}  // namespace eidolon::runtime
