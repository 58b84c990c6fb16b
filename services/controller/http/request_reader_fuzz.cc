// Any bytes as a connection's: read whole and in pieces, with the same outcome; what is complete
// has a head of one meaning.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/controller/http/request_reader.h"

namespace {

using eidolon::controller::http::ReadLimits;
using eidolon::controller::http::Request;
using eidolon::controller::http::RequestReader;
using State = RequestReader::State;

constexpr ReadLimits kLimits = {
    .target_bytes_max = 64, .head_bytes_max = 512, .headers_max = 10, .body_bytes_max = 256};

void CheckRequest(const Request& request) {
  CHECK(!request.method.empty() && request.path.starts_with('/'));
  CHECK(request.body.size() <= kLimits.body_bytes_max);
  CHECK(request.head.ends_with("\r\n\r\n"));
  CHECK(request.head.find("\r\n\r\n") == request.head.size() - 4);
  std::size_t feeds = 0;
  for (std::size_t at = 0; at < request.head.size(); ++at) {
    CHECK(request.head[at] != '\0');
    if (request.head[at] != '\n') continue;
    ++feeds;
    CHECK(at > 0 && request.head[at - 1] == '\r');
  }
  CHECK(feeds <= kLimits.headers_max + 4);
  const std::string length =
      eidolon::base::StrCat("\r\nContent-Length: ", request.body.size(), "\r\n");
  CHECK(request.head.find(length) != std::string::npos);

  // What was written anew reads as itself.
  RequestReader again({.target_bytes_max = 64,
                       .head_bytes_max = 4096,
                       .headers_max = 20,
                       .body_bytes_max = kLimits.body_bytes_max});
  CHECK(again.Take(request.head + request.body) == State::kComplete);
}

struct Outcome {
  std::vector<Request> requests;
  State state = State::kIdle;
  int status = 0;
};

Outcome Read(std::string_view data, std::size_t step) {
  RequestReader reader(kLimits);
  Outcome outcome;
  while (!data.empty()) {
    const std::string_view part = data.substr(0, step);
    data.remove_prefix(part.size());
    State state = reader.Take(part);
    for (; state == State::kComplete; state = reader.state()) {
      outcome.requests.push_back(reader.Release());
      CheckRequest(outcome.requests.back());
    }
  }
  outcome.state = reader.state();
  if (outcome.state == State::kRefused) {
    outcome.status = reader.refusal().status;
    CHECK(outcome.status >= 400 && outcome.status < 600 && !reader.refusal().detail.empty());
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Outcome whole = Read(text, std::max<std::size_t>(size, 1));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) {
    const Outcome part = Read(text, step);
    CHECK(part.requests.size() == whole.requests.size());
    CHECK(part.state == whole.state && part.status == whole.status);
    for (std::size_t at = 0; at < part.requests.size(); ++at) {
      CHECK(part.requests[at].head == whole.requests[at].head);
      CHECK(part.requests[at].body == whole.requests[at].body);
    }
  }
  return 0;
}
