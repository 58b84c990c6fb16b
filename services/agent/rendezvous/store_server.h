// The rendezvous store of a folded job, in the place of the one that torchrun's agent hosts: a
// server of c10d::TCPStore's protocol that also answers for ranks without a process.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/agent/rendezvous/mirrored_answers.h"
#include "services/agent/rendezvous/request.h"
#include "services/agent/rendezvous/request_handler.h"
#include "services/base/clock.h"
#include "services/base/error.h"

namespace eidolon::agent::rendezvous {

// Threads: one of its own serves all connections; DescribeWaits may be called from any.
class StoreServer {
 public:
  struct Options {
    std::string address;     // A name or a number; empty: all of this machine's.
    std::uint16_t port = 0;  // 0: any.
    World world;
  };
  static base::Result<std::unique_ptr<StoreServer>> Start(Options options);
  // Ends all connections.
  ~StoreServer();

  std::uint16_t port() const { return port_; }
  // Sentences about what ranks wait for and nobody has set. Looks through /proc for who they are.
  std::vector<std::string> DescribeWaits() const;

 private:
  struct Connection {
    Connection();

    RequestReader reader;
    std::string out;
    std::size_t sent_bytes = 0;  // Of `out`.
    bool is_broken = false;
  };

  StoreServer(int listener, int wake, std::uint16_t port, World world);
  void Serve();
  // The connections and the listener as poll wants them, and until when it may sleep.
  int Watch(std::vector<pollfd>* watched) const;
  void Step(const std::vector<pollfd>& watched);
  void Accept();
  void PauseAccepting(const std::string& reason);
  void Read(int socket, Connection* connection);
  void Answer(int socket, Connection* connection);
  void Write(int socket, Connection* connection);
  std::optional<std::int64_t> RankAt(int socket) const;
  void Refuse(int socket, Connection* connection, const base::Error& error);

  const base::SystemClock clock_;
  const int listener_;
  const int wake_;  // An eventfd that ends the thread.
  const std::uint16_t port_;
  std::atomic<bool> stopping_ = false;

  // Used by the thread.
  bool was_told_ = false;           // Of the failure that lasts.
  std::int64_t accepts_at_ns_ = 0;  // Nobody is accepted before.
  std::size_t held_bytes_ = 0;      // Of all requests that are not complete.

  mutable std::mutex mutex_;  // Guards what follows.
  RequestHandler handler_;
  std::map<int, Connection> connections_;      // By socket.
  mutable std::map<int, std::int64_t> ranks_;  // By socket; of those that were asked for.
  std::thread thread_;
};

}  // namespace eidolon::agent::rendezvous
