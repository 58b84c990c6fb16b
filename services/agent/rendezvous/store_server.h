// The rendezvous store of a folded job, in the place of the one that torchrun's agent hosts: a
// server of c10d::TCPStore's protocol that also answers for ranks without a process.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "services/agent/rendezvous/ghost_answers.h"
#include "services/agent/rendezvous/key_value_store.h"
#include "services/agent/rendezvous/request.h"
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
  // Sentences about what ranks wait for and nobody has set.
  std::vector<std::string> DescribeWaits() const;

 private:
  struct Connection {
    std::string in;
    std::string out;
    std::vector<std::string> waits_for;  // Keys; empty: it does not wait.
    bool is_broken = false;
  };

  StoreServer(int listener, int wake, std::uint16_t port, World world);
  void Serve();
  void Accept();
  void Read(int socket, Connection* connection);
  void Write(int socket, Connection* connection);
  void Answer(Connection* connection, Request request);
  void AnswerKeys(Connection* connection, const Request& request);
  void Wait(Connection* connection, std::vector<std::string> keys);
  void AnswerWaits();

  const int listener_;
  const int wake_;  // An eventfd that ends the thread.
  const std::uint16_t port_;
  const World world_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;  // Guards what follows.
  KeyValueStore store_;
  std::map<int, Connection> connections_;  // By socket.
  std::thread thread_;
};

}  // namespace eidolon::agent::rendezvous
