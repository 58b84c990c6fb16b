// Requests of c10d::TCPStore's clients as they come over a socket: an operation's number in one
// byte, then its arguments. Numbers are in the byte order of the machine; texts and values have
// their length before them, in eight bytes. Source: torch/csrc/distributed/c10d, PyTorch 2.2 to
// 2.15; 2.9.1 and 2.15 are tested.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::agent::rendezvous {

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
  kCount,
};

struct Request {
  Operation operation = Operation::kPing;
  std::vector<std::string> keys;
  std::vector<std::string> values;  // Of kCompareSet: expected, desired.
  std::int64_t number = 0;          // The amount of kAdd; the number that kPing repeats.
};

// What a connection may send in one request.
inline constexpr std::uint64_t kKeyBytesMax = 64 << 10;
inline constexpr std::uint64_t kValueBytesMax = 256 << 20;
inline constexpr std::uint64_t kKeysMax = 1 << 20;

// The first request in `bytes`, and how many bytes it has; nothing when it is not complete yet.
// Fails on what no client of TCPStore sends.
struct ReadRequest {
  Request request;
  std::size_t bytes = 0;
};
base::Result<std::optional<ReadRequest>> TakeRequest(std::string_view bytes);

// Parts of answers.
void AppendNumber(std::string* out, std::int64_t number);
void AppendText(std::string* out, std::string_view text);

}  // namespace eidolon::agent::rendezvous
