// A running gRPC server: address, health service, orderly end. Services are written as
// grpc::Service classes and handed in, so that every service can run inside a test or inside the
// `eidolon` command.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/runtime/tcp_front.h"

namespace grpc {
class Server;
class ServerBuilder;
class Service;
}  // namespace grpc
namespace prometheus {
class Registry;
}  // namespace prometheus

namespace eidolon::runtime {

// Owns the server, not the services: they must outlive it. Movable. Methods are thread safe.
class GrpcServer {
 public:
  struct Options {
    // "host:port", where port 0 takes a free one, or "unix:PATH" in a folder of mode 0700.
    std::string address = "127.0.0.1:0";
    // Of TCP alone: whoever reaches a Unix socket is this user.
    TcpLimits limits;
    // A connection that has not begun to speak HTTP/2 by then is closed.
    std::chrono::milliseconds handshake_deadline{10'000};
    // So is one that has had no call for so long; clients connect again by themselves.
    std::chrono::milliseconds idle_deadline{600'000};
    // Largest message received; streams of log lines and payload batches stay far below.
    int max_message_bytes = 64 << 20;
    // Registry in which calls are counted (call_counter.h); null: none. Outlives the server.
    prometheus::Registry* registry = nullptr;
  };

  // Starts serving. The standard health service answers for the empty name and for every service.
  // Requires: at least one service.
  static base::Result<GrpcServer> Start(const Options& options,
                                        const std::vector<grpc::Service*>& services);

  GrpcServer(GrpcServer&&) noexcept;
  GrpcServer& operator=(GrpcServer&&) noexcept;
  ~GrpcServer();  // Shutdown with no grace.

  int port() const { return port_; }  // 0 for a Unix socket.
  // "host:port" with the real port, or "unix:PATH", as a client dials it.
  const std::string& address() const { return address_; }

  // Refuses new calls, lets running ones go on for `grace`, then cancels them; returns when none is
  // left. A streaming call that does not watch for its cancellation holds this up.
  void Shutdown(std::chrono::milliseconds grace = std::chrono::milliseconds(0));

 private:
  // Connections of TcpFront are handed over here.
  struct Door;

  GrpcServer();
  base::Result<void> Listen(const Options& options, grpc::ServerBuilder* builder);

  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Door> door_;
  std::string address_;
  int port_ = 0;
};

}  // namespace eidolon::runtime
