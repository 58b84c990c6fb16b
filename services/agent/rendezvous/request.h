// Requests of c10d::TCPStore's clients as they come over a socket: an operation's number in one
// byte, then its arguments. Numbers are in the byte order of the machine; texts and values have
// their length before them, in eight bytes. Source: torch/csrc/distributed/c10d, PyTorch 2.2 to
// 2.15; 2.9.1 and 2.15 are tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::agent::rendezvous {

// c10d::detail::QueryType. 2.9 has those up to kQueueLength.
enum class Operation : std::uint8_t {
  kValidate,
  kSet,
  kCompareSet,
  kGet,
  kAdd,
  kCheck,
  kWait,
  kCountKeys,
  kDelete,
  kAppend,
  kMultiGet,
  kMultiSet,
  kCancelWait,
  kPing,
  kQueuePush,
  kQueuePop,
  kQueueLength,
  kListKeys,
  kBarrier,
  kCount,
};

struct Request {
  Operation operation = Operation::kPing;
  std::vector<std::string> keys;
  std::vector<std::string> values;  // Of kCompareSet: expected, desired.
  // The amount of kAdd; how many ranks kBarrier waits for; the number that kPing repeats.
  std::int64_t number = 0;
};

// Limits of one request of a connection.
inline constexpr std::uint64_t kKeyBytesMax = 64 << 10;
inline constexpr std::uint64_t kValueBytesMax = 256 << 20;
inline constexpr std::uint64_t kKeysMax = 1 << 20;
inline constexpr std::uint64_t kRequestBytesMax = 512 << 20;
// Memory that each key or value takes beside its own bytes.
inline constexpr std::uint64_t kBytesPerText = sizeof(std::string);

// Reads the requests of one connection, however they are cut: a request that comes in many pieces
// costs no more than one that comes whole. Not thread safe.
class RequestReader {
 public:
  // `bytes_max`: of a request.
  explicit RequestReader(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  void Append(std::string_view bytes);
  // The next request; nothing while it is not complete. Fails on what no client of TCPStore sends,
  // and on what exceeds a limit; nothing can be read afterwards.
  base::Result<std::optional<Request>> Next();
  // Returns its size: bytes that were appended, and have not been returned in a request.
  std::size_t held_bytes() const { return buffer_.size() - position_ + request_bytes_; }

 private:
  base::Result<bool> TakeField(char field);
  base::Result<bool> TakeText(std::uint64_t most, std::vector<std::string>* texts);
  template <typename Number>
  std::optional<Number> Peek() const;
  template <typename Number>
  std::optional<Number> Take();

  std::uint64_t bytes_max_;
  std::string buffer_;
  std::size_t position_ = 0;  // Of the first byte that was not taken.

  // The request that is being read.
  bool has_begun_ = false;
  Request request_;
  std::uint64_t request_bytes_ = 0;
  std::string_view fields_;   // Still to be taken in this round.
  std::string_view each_;     // The fields of a round.
  bool needs_count_ = false;  // The number of rounds is next.
  std::uint64_t rounds_ = 0;
};

// Parts of answers.
void AppendNumber(std::string* out, std::int64_t number);
void AppendText(std::string* out, std::string_view text);

}  // namespace eidolon::agent::rendezvous
