// Accepts the TCP connections of a gRPC server. gRPC 1.51 takes as many connections as the process
// has descriptors, so a peer that opens connections and is silent would keep all others out.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "services/base/error.h"

namespace eidolon::runtime {

struct TcpLimits {
  // At most half of the descriptors that the process may have.
  std::size_t connections_max = 16384;
  std::size_t client_connections_max = 256;  // Of one address.
};

// Listens from Listen on, accepts from Start on, and stops at its end. One thread calls it; a
// thread of its own accepts.
class TcpFront {
 public:
  // Takes ownership of a connected, nonblocking descriptor. Called on the accepting thread.
  using Take = std::function<void(int descriptor)>;

  explicit TcpFront(const TcpLimits& limits) : limits_(limits) {}
  ~TcpFront() { Stop(); }
  TcpFront(const TcpFront&) = delete;
  TcpFront& operator=(const TcpFront&) = delete;

  // "host:port" or "[v6]:port"; port 0 takes a free one. 0.0.0.0 and [::] mean every address of
  // either family. Returns the real port.
  base::Result<int> Listen(const std::string& address);
  // Requires: Listen succeeded.
  void Start(Take take);
  // Accepts no more; connections that were handed on stay.
  void Stop();

 private:
  // A connection that was handed on. Its inode tells whether the number still means it: who took
  // it closes it without a word.
  struct Handed {
    int descriptor;
    unsigned long inode;
    std::string client;
  };

  void Run();
  void Accept(int listener);
  bool HasRoomFor(const std::string& client);
  void LogRefusal(const std::string& client);

  const TcpLimits limits_;
  Take take_;
  std::vector<int> listeners_;
  int wake_ = -1;  // An eventfd: Stop was called.
  // Used by the accepting thread.
  std::vector<Handed> handed_;
  std::size_t refused_ = 0;
  bool is_short_ = false;  // No descriptor was left for the last connection.
  std::thread thread_;
};

}  // namespace eidolon::runtime
