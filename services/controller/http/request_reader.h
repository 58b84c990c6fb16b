// Bytes of a connection to complete HTTP/1.x requests, within bounds. It is stricter than RFC 9112
// asks: what two readers could understand differently (lengths given twice, bare line feeds, folded
// lines) is refused, never repaired, and the request is written anew for the library that routes
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/controller/http/refusal.h"

namespace eidolon::controller::http {

struct ReadLimits {
  std::size_t target_bytes_max = 2048;    // Path and query.
  std::size_t head_bytes_max = 16 << 10;  // Request line and header lines.
  std::size_t headers_max = 100;
  std::size_t body_bytes_max = 1 << 20;
};

// A request that is complete and in order.
struct Request {
  std::string method;
  std::string path;  // Without the query, as it was sent.
  // Request line, header lines and the empty line, written anew: one Content-Length, no transfer
  // coding, no Range, none of the names that the routing library adds by itself (REMOTE_ADDR...).
  std::string head;
  std::string body;
};

// This class is not thread-safe.
class RequestReader {
 public:
  enum class State {
    kIdle,      // Nothing of a request has come.
    kHead,      // Some of its header lines.
    kBody,      // All of them, and perhaps some of the body.
    kComplete,  // Until Release.
    kRefused,   // For ever.
  };

  explicit RequestReader(const ReadLimits& limits) : limits_(limits) {}

  // Takes bytes that came. Those after a complete request are kept for the next one.
  State Take(std::string_view bytes);
  // The path without its query. Requires: kComplete.
  const std::string& path() const { return request_.path; }
  // Hands the complete request over and goes on with the next. Requires: kComplete.
  Request Release();

  // Forgets all that came, and gives its memory back; no more may be taken.
  void Drop();

  State state() const { return state_; }
  // Requires: kRefused.
  const Refusal& refusal() const { return *refusal_; }
  // Whether the client waits for "100 Continue" before it sends the body; true once.
  bool TakeContinue();
  // Bytes of the body that are announced, or have come when none are.
  std::size_t body_bytes() const { return length_ ? *length_ : request_.body.size(); }
  // Bytes held.
  std::size_t memory() const {
    return input_.capacity() + request_.head.capacity() + request_.body.capacity();
  }

 private:
  enum class Chunk { kSize, kData, kDataEnd, kTrailer };
  struct Head;  // What the header lines say.

  void Advance();
  bool ReadHead();
  bool ReadBody();
  bool ReadChunks();
  // The next line of the input without its end; nothing while it is incomplete.
  std::optional<std::string> TakeLine();
  bool ParseHead(std::string_view text);
  bool ParseRequestLine(std::string_view line, Head* head);
  bool ParseField(std::string_view line, Head* head);
  bool ReadField(std::string_view name, std::string_view value, Head* head);
  bool ReadLength(std::string_view value, Head* head);
  bool FinishHead(const Head& head);
  bool Refuse(int status, Reason reason, std::string detail);
  bool RefuseBody();

  ReadLimits limits_;
  State state_ = State::kIdle;
  std::string input_;        // Came, not yet understood.
  std::size_t scanned_ = 0;  // Of input_, while the end of the head is looked for.
  Request request_;
  std::optional<std::size_t> length_;  // Of the body; nothing while it comes in chunks.
  Chunk chunk_ = Chunk::kSize;
  std::size_t chunk_left_ = 0;
  bool continue_wanted_ = false;
  std::optional<Refusal> refusal_;
};

}  // namespace eidolon::controller::http
