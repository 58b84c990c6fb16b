// A command talks to an embedded controller over a Unix socket, where the kernel identifies the
// user and no token has to be kept. The HTTP library connects to TCP only, so UnixClient replaces
// the one function that makes the connection. Each request has a connection of its own: commands
// are short, and a stream must not hold up a request. A failed answer is a problem document; all of
// its errors are printed, since a user wants to correct a file once.
#include "services/cli/client.h"

#include <httplib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using controller::shown::TextAt;
using nlohmann::json;

constexpr time_t kConnectSeconds = 5;
constexpr time_t kAnswerSeconds = 60;
// A log that is followed may be silent for as long as the job computes.
constexpr time_t kStreamSeconds = 7 * 24 * 3600;

ErrorCode CodeOf(int status) {
  switch (status) {
    case 400:
    case 415:
    case 422:
      return ErrorCode::kInvalidArgument;
    case 401:
    case 403:
      return ErrorCode::kFailedPrecondition;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kAlreadyExists;
    case 503:
    case 507:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

std::unexpected<base::Error> CannotReach(const std::string& server, httplib::Error error) {
  return Fail(ErrorCode::kUnavailable,
              StrCat("cannot reach a controller at ", server, " (", httplib::to_string(error),
                     "); start one with 'eidolon up' or name it with --server"));
}

// The library's client over a Unix socket, which it does not know.
class UnixClient final : public httplib::ClientImpl {
 public:
  explicit UnixClient(const std::string& path) : ClientImpl("localhost"), path_(path) {}

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::copy_n(path_.begin(), std::min(path_.size(), sizeof address.sun_path - 1),
                address.sun_path);
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made >= 0 &&
        connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      socket.sock = made;
      return true;
    }
    if (made >= 0) close(made);
    error = httplib::Error::Connection;
    return false;
  }

  const std::string path_;
};

// Calls `use` with a client for one request.
template <typename Use>
auto With(const Target& target, time_t read_seconds, Use&& use) {
  const auto prepared = [&](auto&& client) {
    client.set_connection_timeout(kConnectSeconds);
    client.set_read_timeout(read_seconds);
    return use(client);
  };
  return target.socket.empty() ? prepared(httplib::Client(target.server))
                               : prepared(UnixClient(target.socket));
}

httplib::Headers HeadersFor(const Target& target) {
  httplib::Headers headers;
  if (!target.token.empty()) headers.emplace("Authorization", "Bearer " + target.token);
  return headers;
}

}  // namespace

std::string DescribeProblem(int status, const std::string& body) {
  const json problem = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!problem.is_object()) return StrCat("the controller answered ", status);
  const auto errors = problem.find("errors");
  if (errors == problem.end() || !errors->is_array() || errors->empty()) {
    const std::string detail = TextAt(problem, {"detail"});
    return detail.empty() ? StrCat("the controller answered ", status) : detail;
  }
  std::string text = "the document was refused:";
  for (const json& error : *errors) {
    text += StrCat("\n  ", TextAt(error, {"pointer"}), ": ", TextAt(error, {"detail"}));
  }
  return text;
}

Client::Client(Target target) : target_(std::move(target)) {
  std::string& server = target_.server;
  if (server.find("://") == std::string::npos) server = "http://" + server;
  while (server.ends_with('/')) server.pop_back();
}

Result<std::string> Client::Send(const HttpRequest& request) const {
  httplib::Request wire;
  wire.headers = HeadersFor(target_);
  wire.method = request.method;
  wire.path = request.path;
  wire.body = request.body;
  if (!request.content_type.empty()) wire.set_header("Content-Type", request.content_type);
  const auto answer =
      With(target_, kAnswerSeconds, [&wire](auto& client) { return client.send(wire); });
  if (!answer) return CannotReach(target_.server, answer.error());
  if (answer->status < 400) return answer->body;
  return Fail(CodeOf(answer->status), DescribeProblem(answer->status, answer->body));
}

Result<json> Client::SendForJson(const HttpRequest& request) const {
  const auto body = Send(request);
  if (!body) return std::unexpected(body.error());
  json document = json::parse(*body, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return Fail(ErrorCode::kCorrupt,
                target_.server + " answered something that is not JSON; is it Eidolon?");
  }
  return document;
}

Result<void> Client::Stream(const std::string& path,
                            const std::function<bool(const std::string&)>& receiver) const {
  int status = 0;
  bool ended_by_us = false;
  std::string failure;
  const auto begin = [&](const httplib::Response& response) {
    status = response.status;
    return true;
  };
  const auto take = [&](const char* data, std::size_t size) {
    const std::string part(data, size);
    if (status >= 400) {
      failure += part;
      return true;
    }
    ended_by_us = !receiver(part);
    return !ended_by_us;
  };
  const auto answer = With(target_, kStreamSeconds, [&](auto& client) {
    return client.Get(path, HeadersFor(target_), begin, take);
  });
  if (status >= 400) return Fail(CodeOf(status), DescribeProblem(status, failure));
  if (!answer && !ended_by_us) {
    if (status == 0) return CannotReach(target_.server, answer.error());
    return Fail(ErrorCode::kUnavailable, "the connection to " + target_.server + " was lost");
  }
  return {};
}

}  // namespace eidolon::cli
