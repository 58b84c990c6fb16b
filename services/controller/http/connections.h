// All connections of a server in one thread that never waits for a client: it accepts, reads whole
// requests, hands them to whoever answers, and sends the answers. So clients that are slow, or that
// open connections and say nothing, cost a bounded amount of memory and no thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/http/connection.h"
#include "services/controller/http/descriptor.h"

namespace eidolon::controller::http {

// Called on the poller's thread: none may wait.
struct ConnectionEvents {
  // A complete request; the answer goes into the outbox, from any thread.
  std::function<void(Request, const Peer&, std::shared_ptr<Outbox>)> on_request;
  // The whole answer, head and body, to what is refused.
  std::function<std::string(const Refusal&)> to_answer;
  // Function that decides whether a path is answered on connections over the limits, too.
  std::function<bool(const std::string& path)> is_unlimited;
  // The user at the other end of a TCP connection; null: limits go by address.
  std::function<std::optional<uid_t>(int socket)> find_user;
  // Something was refused, with an answer or without.
  std::function<void(const Refusal&)> on_refusal;
  // Function that receives the number of open connections.
  std::function<void(std::size_t)> on_count;
};

// Whoever is over a limit loses the connection that has waited longest for its client, so that a
// crowd of half-open ones does not keep anybody out who speaks: not even from the same address.
// Where none waits, the new connection is in excess: for a short time it may ask for what is
// always served, and any other request on it is refused.
// Start, Stop and the destructor are called by one thread.
class Connections {
 public:
  // The clock must outlive it.
  Connections(const ConnectionLimits& limits, ConnectionEvents events,
              const base::RealClock& clock);
  ~Connections() { Stop(); }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Requires: the descriptors listen, and do not block.
  base::Result<void> Start(std::vector<Descriptor> listeners);
  // Accepts and reads no more, waits for the answers that are being made, and a short time for slow
  // readers of them.
  void Stop();

 private:
  class Bell;  // Workers ring it when an outbox has something.
  struct Entry {
    std::unique_ptr<Connection> connection;
    std::uint32_t interest = 0;                 // As the kernel was told.
    std::unique_ptr<Refusal> excess = nullptr;  // Why it is over a limit; null: it is not.
  };
  using Entries = std::map<std::uint64_t, Entry>;  // In order of arrival.

  void Run();
  void BeginStop(std::int64_t now);
  bool Watch(int descriptor, std::uint64_t id, std::uint32_t interest);
  void Accept(int listener, std::int64_t now);
  // Stops accepting for a moment when the process has no descriptor left.
  void PauseAccepting(std::int64_t now);
  void ResumeAccepting(std::int64_t now);
  void Add(Descriptor socket, std::int64_t now);
  // Makes room for one more connection of the client; or what to tell it.
  std::unique_ptr<Refusal> MakeRoom(const std::string& client, std::int64_t now);
  // Refuses the connection of the client (empty: of any) that has waited longest for its client.
  bool Evict(const std::string& client, const Refusal& refusal, std::int64_t now);
  std::string BiggestClient() const;
  // Refuses the oldest connections in excess of the client, and in all, when they are too many.
  void BoundExcess(const std::string& client, std::int64_t now);
  bool EvictExcess(const std::string& client, std::int64_t now);
  std::int64_t DeadlineOf(const Entry& entry) const;
  void OnReady(std::uint64_t id, std::uint32_t events, std::int64_t now);
  // Hands a request over, sends a refusal.
  void Settle(std::uint64_t id, std::int64_t now);
  void Refuse(Connection* connection, const Refusal& refusal, std::int64_t now);
  void EndLate(std::int64_t now);
  void RelieveMemory(std::int64_t now);
  // Whether a request of the client that is complete finds room: its unfinished ones make some.
  bool HasRoomForRequest(const std::string& client, std::int64_t now);
  // Held in connections of this phase by the client; empty: by all.
  std::size_t BytesIn(Connection::Phase phase, const std::string& client) const;
  // Refuses the connection of the client (empty: of the one that holds most) that has waited
  // longest.
  bool RelieveOnce(Connection::Phase phase, const std::string& client, std::int64_t now);
  // Forgets what is closed, and the oldest that are closing when they are many; tells the kernel
  // what the others wait for.
  void Sweep();
  int TimeoutMs(std::int64_t now) const;

  const ConnectionLimits limits_;
  const ConnectionEvents events_;
  const base::RealClock& clock_;
  std::shared_ptr<Bell> bell_;
  Descriptor epoll_;
  std::vector<Descriptor> listeners_;
  Entries entries_;
  std::uint64_t next_id_;
  std::size_t count_ = 0;  // As events_.on_count was told.
  std::int64_t accept_again_at_ = 0;
  std::atomic<bool> stop_wanted_ = false;
  std::int64_t stopping_since_ = 0;
  std::thread thread_;
};

}  // namespace eidolon::controller::http
