// Why a connection or a request was turned away before any route saw it.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::controller::http {

enum class Reason {
  kMalformed,          // Not HTTP, or HTTP that two readers could understand differently.
  kTooLarge,           // Request line, header lines or body.
  kUnsupported,        // A version, coding or expectation that is not served.
  kHeadDeadline,       // The header lines took too long.
  kBodyDeadline,       // The body took too long.
  kSlowReader,         // The answer was not read in time.
  kClientConnections,  // One client has too many connections.
  kConnections,        // All clients together have.
  kMemory,             // Unfinished requests or unread answers hold too much.
};

// Returns the name in snake_case, for the label of the metric.
std::string_view Name(Reason reason);

struct Refusal {
  int status = 400;  // Of HTTP.
  Reason reason = Reason::kMalformed;
  std::string detail;  // One sentence: what is wrong, and the way out.
};

}  // namespace eidolon::controller::http
