// The checks before a route protect users on one machine from web pages and from each other. A page
// of another origin is refused by its Origin, and a name that was bound to 127.0.0.1 by foreign DNS
// (DNS rebinding) by its Host. The peer of the Unix socket is known from the kernel, so its owner
// needs no token. Every object that a path names is authorized by itself, also the second one of a
// comparison. Query parameters that the API description does not list are refused, as a misspelled
// one would be ignored in silence. Workers outnumber streams, so that streams never occupy all of
// them.
#include "services/controller/rest/rest_server.h"

#include <httplib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/http/listener.h"
#include "services/controller/http/peer_users.h"
#include "services/controller/http/server.h"
#include "services/controller/job/fields.h"
#include "services/controller/job/metadata.h"
#include "services/controller/job/utf8.h"
#include "services/controller/rest/answers.h"
#include "services/controller/rest/embedded.h"
#include "services/controller/rest/handlers.h"
#include "services/controller/rest/origin.h"
#include "services/controller/rest/problem_response.h"
#include "services/controller/rest/routes.h"

namespace eidolon::controller::rest {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using nlohmann::json;

constexpr std::size_t kThreadsBesideStreams = 8;
// Only said to clients: connections.h decides.
constexpr std::size_t kRequestsPerConnection = 1000;

struct HostPort {
  std::string host;
  int port = 0;
};

Result<HostPort> ParseAddress(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : base::ParseInteger(std::string_view(address).substr(colon + 1));
  if (!port || *port < 0 || *port > 65535 || colon == 0) {
    return base::Fail(
        ErrorCode::kInvalidArgument,
        "'" + address + "' is not an address; write host:port, such as 127.0.0.1:8080");
  }
  return HostPort{address.substr(0, colon), static_cast<int>(*port)};
}

// The whole answer to what no route has seen.
std::string ToAnswer(const http::Refusal& refusal) {
  const json problem =
      ToProblem({ErrorCode::kInvalidArgument, refusal.detail, {}}, refusal.status, "");
  const std::string body = problem.dump(-1, ' ', false, json::error_handler_t::replace);
  const bool later = refusal.status == 429 || refusal.status == 503;
  return StrCat("HTTP/1.1 ", refusal.status, " ", TitleOf(refusal.status),
                "\r\nContent-Type: ", kProblemType, "\r\nContent-Length: ", body.size(),
                "\r\nConnection: close\r\n", later ? "Retry-After: 1\r\n" : "", "\r\n", body);
}

class Server final : public RestServer {
 public:
  Server(const RestServerOptions& options, Api* api, Authorizer* authorizer)
      : options_(options),
        api_(*api),
        authorizer_(authorizer),
        handlers_(api, authorizer, options.streams_max) {}
  ~Server() override { Stop(); }

  Result<void> Start() {
    Configure();
    for (const Route& route : handlers_.routes()) AddRoute(route);
    std::vector<http::Descriptor> listeners;
    if (!options_.address.empty()) {
      if (auto listens = ListenTcp(&listeners); !listens) return listens;
    }
    if (!options_.unix_socket.empty()) {
      auto local = http::ListenUnix(options_.unix_socket);
      if (local) {
        listeners.push_back(std::move(*local));
      } else if (local.error().code == ErrorCode::kInvalidArgument && !address_.empty()) {
        // A folder may lie deeper than a socket can; the token is left.
        base::Log(base::Level::kWarning, "no_unix_socket",
                  {{"path", options_.unix_socket}, {"reason", local.error().message}});
      } else {
        return base::Wrap("cannot listen on " + options_.unix_socket, local.error());
      }
    }
    if (listeners.empty()) {
      return base::Fail(ErrorCode::kInvalidArgument,
                        "REST has no address and no Unix socket; name one of them");
    }
    return Serve(std::move(listeners));
  }

  const std::string& address() const override { return address_; }

  void Stop() override {
    handlers_.EndStreams();
    server_.Shutdown();
  }

  std::vector<std::string> ListRoutes() const override {
    std::vector<std::string> list;
    for (const Route& route : handlers_.routes()) list.push_back(route.method + " " + route.path);
    return list;
  }

 private:
  Result<void> ListenTcp(std::vector<http::Descriptor>* listeners) {
    const auto wanted = ParseAddress(options_.address);
    if (!wanted) return std::unexpected(wanted.error());
    loopback_only_ = IsLoopback(wanted->host);
    auto listener = http::ListenTcp(wanted->host, wanted->port);
    if (!listener) return base::Wrap("cannot listen on " + options_.address, listener.error());
    address_ = StrCat(wanted->host, ":", listener->port);
    if (!loopback_only_) {
      base::Log(base::Level::kWarning, "rest_open_to_the_network", {{"address", address_}});
    }
    listeners->push_back(std::move(listener->descriptor));
    return {};
  }

  Result<void> Serve(std::vector<http::Descriptor> listeners) {
    http::ServerOptions options = {.limits = options_.connections,
                                   .workers = options_.streams_max + kThreadsBesideStreams};
    options.limits.read.body_bytes_max = options_.body_bytes_max;
    return server_.Serve(std::move(listeners), options,
                         {.to_answer = ToAnswer,
                          .find_user = [this](int socket) { return peer_users_.Find(socket); },
                          .on_refusal =
                              [this](const http::Refusal& refusal) {
                                api_.CountRefusal(std::string(http::Name(refusal.reason)));
                              },
                          .on_count = [this](std::size_t count) { api_.SetConnections(count); }},
                         clock_);
  }

  void Configure() {
    const auto idle = options_.connections.idle_deadline;
    server_.set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(idle).count());
    server_.set_keep_alive_max_count(kRequestsPerConnection);
    server_.set_payload_max_length(options_.body_bytes_max);
    // A browser takes an answer for what it says it is, and for no other page's.
    server_.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                                 {"Cross-Origin-Resource-Policy", "same-origin"},
                                 {"Referrer-Policy", "no-referrer"}});
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& r) {
      return CheckRequest(request, &r);
    });
    server_.set_exception_handler([](const httplib::Request& request, httplib::Response& response,
                                     std::exception_ptr) {
      Answer({ErrorCode::kInternal, "the request could not be handled", {}}, request, &response);
    });
    server_.set_error_handler([this](const httplib::Request& request, httplib::Response& r) {
      AnswerUnrouted(request, &r);
    });
    server_.set_logger([this](const httplib::Request& request, const httplib::Response& response) {
      api_.CountRequest(request.method, response.status);
    });
  }

  void AddRoute(const Route& route) {
    const std::string pattern = ToPattern(route.path);
    const auto handler = [this, route](const httplib::Request& request,
                                       httplib::Response& response) {
      PathParts parts;
      for (std::size_t i = 1; i < request.matches.size(); ++i) {
        parts.push_back(request.matches[i].str());
      }
      const bool named = route.path.starts_with("/api/");
      if (named && !CheckNames(parts, request, &response)) return;
      if (!MayPass(route, parts, request, &response)) return;
      if (CheckQuery(route, request, &response)) route.handler(request, parts, &response);
    };
    if (route.method == "GET") server_.Get(pattern, handler);
    if (route.method == "POST") server_.Post(pattern, handler);
    if (route.method == "PATCH") server_.Patch(pattern, handler);
    if (route.method == "DELETE") server_.Delete(pattern, handler);
  }

  // Parameters that the description of the API does not name would be ignored in silence.
  static bool CheckQuery(const Route& route, const httplib::Request& request,
                         httplib::Response* response) {
    if (!route.path.starts_with("/api/")) return true;
    const std::vector<std::string> known = QueryOf(route);
    for (const auto& [name, value] : request.params) {
      if (std::ranges::find(known, name) != known.end()) continue;
      Answer({ErrorCode::kInvalidArgument,
              StrCat("unknown query parameter '", name, "'",
                     known.empty()
                         ? ": there are none here"
                         : job::DidYouMean(name, known) + " known: " + base::Join(known, ", ")),
              {}},
             400, request, response);
      return false;
    }
    return true;
  }

  // Names in paths follow the rules of those in documents. A path names an object by namespace and
  // name, and then perhaps another.
  static bool CheckNames(const PathParts& parts, const httplib::Request& request,
                         httplib::Response* response) {
    for (std::size_t at = 0; at < parts.size(); ++at) {
      const bool is_namespace = at % 2 == 0;
      if (is_namespace ? job::IsNamespaceName(parts[at]) : job::IsDnsLabel(parts[at])) continue;
      Answer({ErrorCode::kInvalidArgument,
              is_namespace ? StrCat("the namespace in the path ", job::kNamespaceRule)
                           : StrCat("the name in the path ", job::kNameRule),
              {}},
             422, request, response);
      return false;
    }
    return true;
  }

  // Returns whether the authorizer lets the request through, of each object that the path names;
  // answers by itself when not.
  bool MayPass(const Route& route, const PathParts& parts, const httplib::Request& request,
               httplib::Response* response) const {
    if (authorizer_ == nullptr || IsOwner(request)) return true;
    if (options_.open_metrics && route.path == "/metrics") return true;
    const auto part = [&](std::size_t at) { return at < parts.size() ? parts[at] : ""; };
    for (std::size_t at = 0; at == 0 || at < parts.size(); at += 2) {
      const auto access = AccessRequestOf(route.method, route.path, part(at), part(at + 1));
      if (!access) return true;
      const auto denial = authorizer_->Check(BearerToken(request), *access);
      if (!denial) continue;
      if (denial->status == 401) response->set_header("WWW-Authenticate", "Bearer");
      Answer({ErrorCode::kFailedPrecondition, denial->message, {}}, denial->status, request,
             response);
      return false;
    }
    return true;
  }

  // Checks a request before any route. Names in paths are stored and answered as JSON.
  httplib::Server::HandlerResponse CheckRequest(const httplib::Request& request,
                                                httplib::Response* response) const {
    if (!job::IsUtf8(request.path)) {
      Answer({ErrorCode::kInvalidArgument, "the path is not UTF-8 text", {}}, request, response);
      return httplib::Server::HandlerResponse::Handled;
    }
    const std::string host = request.get_header_value("Host");
    if (loopback_only_ && !host.empty() && !IsLoopback(HostOf(host))) {
      Answer({ErrorCode::kInvalidArgument,
              "the Host header is not of this machine: this server listens on loopback, so ask "
              "for 127.0.0.1 or localhost",
              {}},
             403, request, response);
      return httplib::Server::HandlerResponse::Handled;
    }
    if (request.has_header("Origin") && !IsSameOrigin(request.get_header_value("Origin"), host)) {
      Answer({ErrorCode::kInvalidArgument,
              "the request comes from a page of another origin, which may not use this server",
              {}},
             403, request, response);
      return httplib::Server::HandlerResponse::Handled;
    }
    return httplib::Server::HandlerResponse::Unhandled;
  }

  // Answers what no handler has answered: unknown paths, wrong methods, bodies that are too large.
  void AnswerUnrouted(const httplib::Request& request, httplib::Response* response) const {
    if (!response->body.empty() || response->status < 400) return;
    std::set<std::string> allowed;
    for (const Route& route : handlers_.routes()) {
      if (std::regex_match(request.path, std::regex(ToPattern(route.path)))) {
        allowed.insert(route.method);
      }
    }
    if (response->status == 404 && !allowed.empty()) {
      std::string list;
      for (const std::string& method : allowed) list += (list.empty() ? "" : ", ") + method;
      response->set_header("Allow", list);
      Answer({ErrorCode::kInvalidArgument,
              StrCat(request.method, " is not possible here, but ", list),
              {}},
             405, request, response);
      return;
    }
    std::string detail = TitleOf(response->status);
    if (response->status == 404) detail = "nothing is served at " + request.path;
    if (response->status == 413) {
      detail = StrCat("the body is larger than ", options_.body_bytes_max, " bytes");
    }
    Answer({ErrorCode::kNotFound, detail, {}}, response->status, request, response);
  }

  const RestServerOptions options_;
  Api& api_;
  Authorizer* const authorizer_;
  const base::SystemClock clock_;
  http::PeerUsers peer_users_;  // Of the connections' thread.
  Handlers handlers_;
  http::Server server_;
  std::string address_;
  bool loopback_only_ = true;
};

}  // namespace

Result<std::unique_ptr<RestServer>> RestServer::Start(const RestServerOptions& options, Api* api,
                                                      Authorizer* authorizer) {
  auto server = std::make_unique<Server>(options, api, authorizer);
  if (auto started = server->Start(); !started) return std::unexpected(started.error());
  return server;
}

}  // namespace eidolon::controller::rest
