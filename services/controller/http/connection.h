// One connection: a request is read, its answer is written, and so on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "services/controller/http/descriptor.h"
#include "services/controller/http/outbox.h"
#include "services/controller/http/peer.h"
#include "services/controller/http/request_reader.h"

namespace eidolon::controller::http {

struct ConnectionLimits {
  std::size_t connections_max = 512;
  std::size_t client_connections_max = 128;
  // Connections over a limit that may still ask for what is always served, beside those above.
  std::size_t excess_max = 128;
  std::size_t client_excess_max = 8;
  std::chrono::milliseconds excess_deadline{2'000};
  // Connections that only wait for their client to take note of a refusal, beside those above.
  std::size_t closing_max = 128;
  std::chrono::milliseconds head_deadline{10'000};
  // Between requests; nothing is held then but the connection.
  std::chrono::milliseconds idle_deadline{60'000};
  // A body must have come, an answer must be read, within this time and what its size takes.
  std::chrono::milliseconds transfer_grace{30'000};
  std::size_t transfer_bytes_per_second = 32u << 10;
  std::chrono::milliseconds closing_deadline{2'000};
  // Over all connections (one client may hold half of the first): of requests that are not
  // answered, and of answers that are not read.
  std::size_t request_bytes_max = 32u << 20;
  std::size_t answer_bytes_max = 64u << 20;
  ReadLimits read;
};

// Used by the poller alone. Times are nanoseconds of a monotonic clock.
class Connection {
 public:
  enum class Phase {
    kReading,    // Waits for a request, or for the rest of one.
    kAnswering,  // A worker makes the answer, or it is being sent.
    kClosing,    // The last answer is sent; what the client still sends is thrown away.
    kClosed,
  };

  Connection(Descriptor socket, Peer peer, const ConnectionLimits& limits, std::int64_t now);
  ~Connection() { Close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The socket has bytes for us, or the client ends its side.
  void Read(std::int64_t now);
  // The socket takes bytes, or the worker has some.
  void Write(std::int64_t now);
  // Takes the request that is complete; its answer comes through the outbox. Requires: has_request.
  Request BeginAnswer(std::shared_ptr<Outbox> outbox, std::int64_t now);
  // Sends a last answer in place of whatever the connection was about.
  void Refuse(std::string answer, std::int64_t now);
  // The client has ended its side, and may still read.
  void MarkHalfClosed();
  void Close();

  Phase phase() const { return phase_; }
  const Peer& peer() const { return peer_; }
  const std::string& client() const { return client_; }
  int socket() const { return socket_.get(); }
  bool has_request() const;
  // The path of the request. Requires: has_request.
  const std::string& path() const { return reader_.path(); }
  // Returns what the reader refuses, until Refuse.
  const Refusal* refusal() const;
  // Whether this is a last answer or later: it counts as a connection no more.
  bool last() const { return phase_ != Phase::kReading && outbox_ == nullptr; }
  // Returns whether bytes of a request have come that is not being answered yet.
  bool started() const;
  // Returns whether no request has been complete yet.
  bool first() const { return first_; }
  // Events of epoll that are wanted now.
  std::uint32_t interest() const;
  // Returns when the connection is too late with what it does now; the largest number: never.
  std::int64_t deadline() const;
  // Returns what was too late.
  Refusal Lateness() const;
  // Returns the time since which it waits for the client; nothing when it waits for us.
  std::optional<std::int64_t> waiting_since() const;
  std::size_t request_bytes() const { return reader_.memory() + taken_bytes_; }
  std::size_t answer_bytes() const { return out_.size() - sent_; }

 private:
  void EndAnswer(std::int64_t now);
  std::int64_t TransferNs(std::size_t bytes) const;

  Descriptor socket_;
  const Peer peer_;
  const std::string client_;
  const ConnectionLimits& limits_;
  RequestReader reader_;
  Phase phase_ = Phase::kReading;
  std::shared_ptr<Outbox> outbox_;
  std::size_t taken_bytes_ = 0;  // Of the request that is being answered.
  std::string out_;
  std::size_t sent_ = 0;             // Of out_.
  std::size_t sent_since_full_ = 0;  // Since full_since_.
  std::int64_t full_since_ = 0;      // Since when something has been left to send; 0: nothing is.
  std::int64_t since_ = 0;           // When the phase, the head or the body began.
  bool first_ = true;                // No request has been complete yet.
  bool half_closed_ = false;
};

}  // namespace eidolon::controller::http
