// httplib's routes and answers behind connections of our own. The library gives every connection a
// thread that waits for its client, so a few hundred silent clients stop it; here a request reaches
// a thread when it is complete.
#pragma once

#include <httplib.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/http/connections.h"
#include "services/controller/http/workers.h"

namespace eidolon::controller::http {

struct ServerOptions {
  ConnectionLimits limits;
  std::size_t workers = 32;
  // For bodies of 64 KiB and more: what they become in memory is many times that.
  std::size_t large_body_workers = 2;
  // Paths with a thread of their own each: they are answered however busy the workers are.
  std::vector<std::string> reserved = {"/livez", "/readyz"};
  // A path that is answered on connections over the limits, too.
  std::string unlimited = "/livez";
};

// Events besides answers. Called on the poller's thread: none may wait.
struct ServerEvents {
  std::function<std::string(const Refusal&)> to_answer;
  // The user at the other end of a TCP connection; null: limits go by address.
  std::function<std::optional<uid_t>(int socket)> find_user = nullptr;
  std::function<void(const Refusal&)> on_refusal;
  std::function<void(std::size_t)> on_count;
};

// Routes and handlers are set as httplib's; then Serve, in place of listen. A handler finds the
// client in Request::remote_addr ("127.0.0.1", "unix:1000"; peer.h reads it), where no header gets.
class Server : public httplib::Server {
 public:
  Server();
  ~Server() override { Shutdown(); }

  // Requires: the descriptors listen, and do not block. The clock must outlive the server.
  base::Result<void> Serve(std::vector<Descriptor> listeners, const ServerOptions& options,
                           ServerEvents events, const base::RealClock& clock);
  // Answers what has been read, then returns.
  void Shutdown();

 private:
  Workers& WorkersFor(const Request& request);
  void Dispatch(Request request, const Peer& peer, const std::shared_ptr<Outbox>& outbox);
  // The answer's bytes.
  std::size_t Answer(const Request& request, const Peer& peer,
                     const std::shared_ptr<Outbox>& outbox);

  std::string unlimited_;
  std::atomic<int> large_bodies_ = 0;                         // Being handled.
  std::map<std::string, std::unique_ptr<Workers>> reserved_;  // By path.
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Workers> large_body_workers_;
  std::unique_ptr<Connections> connections_;
};

}  // namespace eidolon::controller::http
