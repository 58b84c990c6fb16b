// Error and Result: how an expected failure travels. Bugs use CHECK instead; foreign boundaries
// (gRPC, HTTP, CUDA codes) convert in one function each.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace eidolon::base {

enum class ErrorCode {
  kInvalidArgument,     // The caller's input is wrong.
  kNotFound,            // A named thing does not exist.
  kAlreadyExists,       // A named thing exists and should not.
  kFailedPrecondition,  // The system is not in a state that allows this.
  kResourceExhausted,   // A limit was reached.
  kUnavailable,         // A peer cannot be reached; trying again may help.
  kUnsupported,         // We refuse on purpose and say so.
  kCorrupt,             // Stored or received bytes make no sense.
  kInternal,            // Something below us failed (a system call, a library).
};

// The code in snake_case, for logs and messages.
std::string_view Name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // One sentence naming the thing that failed and its value.

  bool operator==(const Error&) const = default;
};

template <typename T>
using Result = std::expected<T, Error>;

// A failed result: `return Fail(ErrorCode::kNotFound, "job 'x' does not exist")`.
inline std::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}

// Puts what was being done in front of an error: "reading profile.db: disk full".
std::unexpected<Error> Wrap(std::string_view doing, Error error);

}  // namespace eidolon::base
