// The HTTP server of the controller: jobs and clusters as resources, health, metrics, API
// description and a status page. It holds no state of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/controller/http/connection.h"
#include "services/controller/rest/api.h"
#include "services/controller/rest/authorizer.h"

namespace eidolon::controller::rest {

struct RestServerOptions {
  // Port 0 takes a free one; empty: listens on the Unix socket alone.
  std::string address = "127.0.0.1:8080";
  std::size_t body_bytes_max = 1u << 20;
  std::size_t streams_max = 24;  // Followers of logs and events at a time.
  // Also listens here, for processes of this user and of root alone; they need no token. Empty:
  // not.
  std::string unix_socket;
  // True if /metrics is served to whoever asks, as health is.
  bool open_metrics = false;
  // Limits of connections; one client may have two thirds of them. What is said of bodies is
  // body_bytes_max.
  http::ConnectionLimits connections;
};

// Thread safe. The api must outlive it, and the authorizer, which may be null.
class RestServer {
 public:
  static base::Result<std::unique_ptr<RestServer>> Start(const RestServerOptions& options, Api* api,
                                                         Authorizer* authorizer = nullptr);
  virtual ~RestServer() = default;  // Stops.

  // "host:port" with the real port; empty without TCP.
  virtual const std::string& address() const = 0;
  // Ends streams, refuses new requests, returns when none is left.
  virtual void Stop() = 0;
  // "GET /livez" and so on: what is served, for the check against the description.
  virtual std::vector<std::string> ListRoutes() const = 0;
};

}  // namespace eidolon::controller::rest
