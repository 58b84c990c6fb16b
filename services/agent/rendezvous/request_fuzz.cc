// Whatever bytes a connection sends, they are requests, the beginning of one, or an error; how they
// are cut makes no difference; and the store keeps count of what the requests leave in it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/agent/rendezvous/request.h"
#include "services/agent/rendezvous/request_handler.h"
#include "services/base/check.h"

namespace eidolon::agent::rendezvous {
namespace {

constexpr std::size_t kBytesMax = 4096;

struct Outcome {
  std::vector<Request> requests;
  std::string error;
};

Outcome ReadAll(std::string_view bytes, std::size_t piece) {
  RequestReader reader(kBytesMax);
  Outcome outcome;
  while (!bytes.empty()) {
    const std::size_t length = std::min(piece, bytes.size());
    reader.Append(bytes.substr(0, length));
    bytes.remove_prefix(length);
    while (true) {
      auto read = reader.Next();
      if (!read) {
        CHECK(!read.error().message.empty());
        outcome.error = read.error().message;
        return outcome;
      }
      if (!read->has_value()) break;
      outcome.requests.push_back(std::move(**read));
    }
  }
  return outcome;
}

void CheckSame(const Outcome& one, const Outcome& other) {
  CHECK(one.error == other.error && one.requests.size() == other.requests.size());
  for (std::size_t i = 0; i < one.requests.size(); ++i) {
    const Request& a = one.requests[i];
    const Request& b = other.requests[i];
    CHECK(a.operation == b.operation && a.number == b.number);
    CHECK(a.keys == b.keys && a.values == b.values);
  }
}

// Two clients take turns.
void AnswerAll(std::vector<Request> requests) {
  std::map<int, std::string> answers;
  RequestHandler handler({.world = {.size = 8, .live = {0, 7}}, .bytes_max = kBytesMax},
                         [&answers](int client) { return &answers[client]; });
  int client = 0;
  for (Request& request : requests) {
    const auto answered = handler.Answer(client, std::move(request));
    CHECK(answered.has_value() || !answered.error().message.empty());
    client = 1 - client;
    std::size_t bytes = 0;
    for (const auto& [key, value] : handler.store().values()) bytes += key.size() + value.size();
    CHECK(bytes <= handler.store().bytes() && handler.store().bytes() <= kBytesMax);
    for (const auto& text : handler.DescribeWaits([](int) { return std::nullopt; })) {
      CHECK(!text.empty());
    }
  }
  handler.Forget(0);
  handler.Forget(1);
  CHECK(handler.DescribeWaits([](int) { return std::nullopt; }).empty());
}

}  // namespace
}  // namespace eidolon::agent::rendezvous

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace rendezvous = eidolon::agent::rendezvous;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  rendezvous::Outcome whole = rendezvous::ReadAll(bytes, bytes.size());
  rendezvous::CheckSame(whole, rendezvous::ReadAll(bytes, 1 + data[0] % 32));
  rendezvous::AnswerAll(std::move(whole.requests));
  return 0;
}
