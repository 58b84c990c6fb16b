// A failed connection and an answer of 429 or 5xx are tried again, with one exception: a POST whose
// answer was lost may have been carried out and must not happen twice. The other methods are
// idempotent here. All tries of a request share one limit of time: no pause that the server asks
// for goes beyond it, and none follows the last try. The first try may use an idle connection,
// which the server may have closed meanwhile, so later tries open new ones. The token is read again
// every 30 s, because the kubelet rotates the file. The mutex guards token and idle connections and
// is never held during a request. A list is read in pages, and a watch begins at the version of the
// last page.
#include "services/controller/kube/client.h"

#include <httplib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "services/base/text.h"
#include "services/controller/kube/retry.h"

namespace eidolon::controller::kube {
namespace {

using base::StrCat;
using nlohmann::json;

// Of one request, with its repetitions and the pauses between them.
constexpr std::chrono::milliseconds kRequestLimit(20'000);
constexpr std::chrono::milliseconds kConnectLimit(10'000);
constexpr std::int64_t kTokenLifeNs = 30'000'000'000;
constexpr std::size_t kIdleMax = 16;
constexpr std::int64_t kIdleNs = 20'000'000'000;
constexpr std::size_t kPageSize = 500;
constexpr char kAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string Escape(const std::string& text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

// The API server answers failures with an object of kind Status.
Refusal ToRefusal(int status, const std::string& body) {
  const json parsed = json::parse(body, nullptr, false);
  Refusal refusal{.status = status, .reason = {}, .message = {}, .details = {}};
  if (parsed.is_object()) {
    refusal.reason = parsed.value("reason", "");
    refusal.message = parsed.value("message", "");
    if (parsed.contains("details")) refusal.details = parsed["details"];
  }
  if (refusal.message.empty()) refusal.message = StrCat("HTTP status ", status);
  return refusal;
}

// The headers of an impersonation. A name that no header can carry is refused: without its header
// the request would be ours.
Answer<void> Impersonate(const Impersonation& user, httplib::Headers* headers) {
  const auto add = [&](const char* name, const std::string& value) {
    const bool fits = !value.empty() &&
                      std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; }) &&
                      !value.starts_with(' ') && !value.ends_with(' ');
    if (fits) headers->emplace(name, value);
    return fits;
  };
  bool fits = add("Impersonate-User", user.user);
  for (const std::string& group : user.groups) fits = fits && add("Impersonate-Group", group);
  if (fits) return {};
  return std::unexpected(
      Refusal{.status = 403,
              .reason = "Forbidden",
              .message = "the name of the user, or of a group of theirs, has characters that "
                         "cannot be passed on to the API server",
              .details = {}});
}

Refusal NoAnswer(const std::string& url, httplib::Error error) {
  return {.status = 0,
          .reason = "NoAnswer",
          .message = StrCat("no answer from ", url, ": ", httplib::to_string(error)),
          .details = {}};
}

}  // namespace

struct Client::Request {
  std::string method;
  std::string path;
  std::string body;
  std::string content_type = "application/json";
  const Impersonation* as = nullptr;  // Null: ourselves.
};

struct Client::Reply {
  int status = 0;
  std::string body;
};

// The API server refuses a body above 3 MiB by itself; what etcd and gRPC refuse comes with status
// 500 and their words.
bool Refusal::IsTooLarge() const {
  return status == 413 || message.find("request is too large") != message.npos ||
         message.find("message larger than max") != message.npos;
}

base::Result<ApiServer> ApiServer::InCluster() {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr) {
    return base::Fail(base::ErrorCode::kFailedPrecondition,
                      "not in a Kubernetes cluster: KUBERNETES_SERVICE_HOST is not set");
  }
  const std::string name = host;
  const bool six = name.find(':') != std::string::npos;
  return ApiServer{.url = StrCat("https://", six ? "[" + name + "]" : name, ":", port),
                   .ca_file = StrCat(kAccountFolder, "/ca.crt"),
                   .token_file = StrCat(kAccountFolder, "/token")};
}

Client::Client(ApiServer server, const base::RealClock& clock)
    : server_(std::move(server)), clock_(clock) {}

Client::~Client() = default;

std::unique_ptr<httplib::Client> Client::Connect(std::chrono::milliseconds read_timeout) const {
  auto client = std::make_unique<httplib::Client>(server_.url);
  if (!server_.ca_file.empty()) client->set_ca_cert_path(server_.ca_file);
  client->enable_server_certificate_verification(true);
  client->set_keep_alive(true);
  client->set_tcp_nodelay(true);
  client->set_connection_timeout(std::min(kConnectLimit, read_timeout));
  client->set_read_timeout(read_timeout);
  return client;
}

std::string Client::Token() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = clock_.MonotonicNs();
  if (server_.token_file.empty()) return "";
  if (!token_.empty() && now_ns - token_read_ns_ < kTokenLifeNs) return token_;
  std::ifstream file(server_.token_file);
  std::string token((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())) != 0) {
    token.pop_back();
  }
  if (!token.empty()) token_ = token;
  token_read_ns_ = now_ns;
  return token_;
}

std::unique_ptr<httplib::Client> Client::TakeIdle() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = clock_.MonotonicNs();
  std::erase_if(idle_, [&](const Idle& idle) { return now_ns - idle.since_ns > kIdleNs; });
  if (idle_.empty()) return nullptr;
  auto connection = std::move(idle_.back().connection);
  idle_.pop_back();
  return connection;
}

Answer<Client::Reply> Client::Send(const Request& request) {
  httplib::Request http;
  http.method = request.method;
  http.path = request.path;
  http.body = request.body;
  http.set_header("Accept", "application/json");
  http.set_header("User-Agent", kFieldManager);
  if (request.as != nullptr) {
    if (auto done = Impersonate(*request.as, &http.headers); !done) {
      return std::unexpected(done.error());
    }
  }
  if (!request.body.empty()) http.set_header("Content-Type", request.content_type);
  const std::int64_t begin_ns = clock_.MonotonicNs();
  const auto left = [&] {
    const std::chrono::nanoseconds taken(clock_.MonotonicNs() - begin_ns);
    return std::chrono::duration_cast<std::chrono::milliseconds>(kRequestLimit - taken);
  };
  Refusal last;
  for (int tries = 1; tries <= kTriesMax; ++tries) {
    const std::chrono::milliseconds limit = left();
    if (limit.count() <= 0) break;
    const std::string token = Token();
    http.headers.erase("Authorization");
    if (!token.empty()) http.set_header("Authorization", "Bearer " + token);
    // The server closes what was idle for long: after a failure only new connections are tried.
    std::unique_ptr<httplib::Client> connection = tries == 1 ? TakeIdle() : nullptr;
    if (connection == nullptr) connection = Connect(limit);
    connection->set_read_timeout(limit);
    ++requests_;
    const auto result = connection->send(http);
    if (!result) {
      last = NoAnswer(server_.url, result.error());
      if (request.method == "POST" && result.error() == httplib::Error::Read) break;
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      if (idle_.size() < kIdleMax) idle_.push_back({std::move(connection), clock_.MonotonicNs()});
    }
    if (result->status != 429 && result->status < 500) {
      return Reply{result->status, result->body};
    }
    last = ToRefusal(result->status, result->body);
    if (last.IsTooLarge()) break;
    const auto pause = PauseBeforeRetry(tries, result->get_header_value("Retry-After"), left());
    if (!pause) break;
    std::this_thread::sleep_for(*pause);
  }
  return std::unexpected(last);
}

Answer<json> Client::SendJson(const Request& request) {
  const auto reply = Send(request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 300) return std::unexpected(ToRefusal(reply->status, reply->body));
  json object = json::parse(reply->body, nullptr, false);
  if (object.is_discarded()) {
    return std::unexpected(Refusal{.status = reply->status,
                                   .reason = "BadAnswer",
                                   .message = "the API server's answer is no JSON",
                                   .details = {}});
  }
  return object;
}

Answer<json> Client::Get(const Resource& resource, const ObjectKey& key) {
  return SendJson({.method = "GET", .path = PathOf(resource, key), .body = {}});
}

Answer<ListPage> Client::List(const Resource& resource, const std::string& name_space,
                              const std::string& selector, const std::string& fields) {
  ListPage all;
  std::string next;
  do {
    std::string path = StrCat(PathOf(resource, {name_space, ""}), "?limit=", kPageSize);
    if (!selector.empty()) path += "&labelSelector=" + Escape(selector);
    if (!fields.empty()) path += "&fieldSelector=" + Escape(fields);
    if (!next.empty()) path += "&continue=" + Escape(next);
    auto page = SendJson({.method = "GET", .path = path, .body = {}});
    if (!page) return std::unexpected(page.error());
    const json metadata = page->value("metadata", json::object());
    all.resource_version = metadata.value("resourceVersion", "");
    next = metadata.value("continue", "");
    for (json& item : (*page)["items"]) {
      // Items of a list do not name their kind.
      item["apiVersion"] = resource.api_version;
      item["kind"] = resource.kind;
      all.items.push_back(std::move(item));
    }
  } while (!next.empty());
  return all;
}

Answer<json> Client::Create(const Resource& resource, const json& object, bool dry_run) {
  std::string path =
      StrCat(PathOf(resource, {KeyOf(object).name_space, ""}), "?fieldManager=", kFieldManager);
  if (dry_run) path += "&dryRun=All";
  return SendJson({.method = "POST", .path = path, .body = object.dump()});
}

Answer<json> Client::CreateAs(const Impersonation& user, const Resource& resource,
                              const json& object) {
  return SendJson({.method = "POST",
                   .path = StrCat(PathOf(resource, {KeyOf(object).name_space, ""}),
                                  "?fieldManager=eidolon-rest"),
                   .body = object.dump(),
                   .as = &user});
}

Answer<json> Client::Replace(const Resource& resource, const json& object) {
  return SendJson(
      {.method = "PUT", .path = PathOf(resource, KeyOf(object)), .body = object.dump()});
}

Answer<json> Client::Apply(const json& object) {
  return SendJson({.method = "PATCH",
                   .path = StrCat(PathOf(ResourceOf(object), KeyOf(object)),
                                  "?fieldManager=", kFieldManager, "&force=true"),
                   .body = object.dump(),
                   .content_type = "application/apply-patch+yaml"});
}

Answer<json> Client::ApplyStatus(const json& object) {
  return SendJson({.method = "PATCH",
                   .path = StrCat(PathOf(ResourceOf(object), KeyOf(object)),
                                  "/status?fieldManager=", kFieldManager, "&force=true"),
                   .body = object.dump(),
                   .content_type = "application/apply-patch+yaml"});
}

Answer<json> Client::MergePatch(const Resource& resource, const ObjectKey& key, const json& patch) {
  return SendJson({.method = "PATCH",
                   .path = PathOf(resource, key),
                   .body = patch.dump(),
                   .content_type = "application/merge-patch+json"});
}

Answer<json> Client::MergePatchAs(const Impersonation& user, const Resource& resource,
                                  const ObjectKey& key, const json& patch) {
  return SendJson({.method = "PATCH",
                   .path = StrCat(PathOf(resource, key), "?fieldManager=eidolon-rest"),
                   .body = patch.dump(),
                   .content_type = "application/merge-patch+json",
                   .as = &user});
}

Answer<void> Client::Delete(const Resource& resource, const ObjectKey& key, Propagation propagation,
                            const std::string& uid) {
  return SendDelete(nullptr, resource, key, propagation, uid);
}

Answer<void> Client::DeleteAs(const Impersonation& user, const Resource& resource,
                              const ObjectKey& key, Propagation propagation,
                              const std::string& uid) {
  return SendDelete(&user, resource, key, propagation, uid);
}

Answer<void> Client::SendDelete(const Impersonation* user, const Resource& resource,
                                const ObjectKey& key, Propagation propagation,
                                const std::string& uid) {
  json options = {
      {"apiVersion", "v1"},
      {"kind", "DeleteOptions"},
      {"propagationPolicy", propagation == Propagation::kForeground ? "Foreground" : "Background"}};
  if (!uid.empty()) options["preconditions"] = {{"uid", uid}};
  const auto gone = SendJson(
      {.method = "DELETE", .path = PathOf(resource, key), .body = options.dump(), .as = user});
  if (gone || gone.error().IsNotFound()) return {};
  return std::unexpected(gone.error());
}

Answer<std::string> Client::ReadLog(const ObjectKey& pod, const std::string& container,
                                    bool timestamps) {
  const auto reply =
      Send({.method = "GET",
            .path = StrCat(PathOf(kPods, pod), "/log?container=", container,
                           "&limitBytes=", 32 << 20, timestamps ? "&timestamps=true" : ""),
            .body = {}});
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 300) return std::unexpected(ToRefusal(reply->status, reply->body));
  return reply->body;
}

Answer<void> Client::Watch::Follow(const Resource& resource, const std::string& name_space,
                                   const std::string& selector, const std::string& resource_version,
                                   std::chrono::seconds timeout, const WatchEvent& on_event) {
  // Bookmarks come about once a minute: a stream that is silent for longer is dead.
  const auto connection = client_.Connect(std::chrono::seconds(150));
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return {};
    open_ = connection.get();
  }
  std::string path = StrCat(PathOf(resource, {name_space, ""}),
                            "?watch=1&allowWatchBookmarks=true&timeoutSeconds=", timeout.count(),
                            "&resourceVersion=", Escape(resource_version));
  if (!selector.empty()) path += "&labelSelector=" + Escape(selector);
  httplib::Headers headers = {{"Accept", "application/json"}};
  const std::string token = client_.Token();
  if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
  std::string pending;
  std::optional<Refusal> failure;
  int status = 0;
  const auto take_line = [&](const std::string& line) {
    json event = json::parse(line, nullptr, false);
    if (!event.is_object()) return false;
    const std::string type = event.value("type", "");
    if (type == "ERROR") {
      failure = ToRefusal(event["object"].value("code", 500), event["object"].dump());
      return false;
    }
    return on_event(type, std::move(event["object"]));
  };
  ++client_.requests_;
  const auto result = connection->Get(
      path, headers,
      [&](const httplib::Response& response) {
        status = response.status;
        return true;
      },
      [&](const char* data, std::size_t size) {
        pending.append(data, size);
        if (status >= 300) return true;
        for (std::size_t end; (end = pending.find('\n')) != std::string::npos;) {
          const std::string line = pending.substr(0, end);
          pending.erase(0, end + 1);
          if (!line.empty() && !take_line(line)) return false;
        }
        return true;
      });
  const std::lock_guard lock(mutex_);
  open_ = nullptr;
  if (failure) return std::unexpected(*failure);
  if (status >= 300) return std::unexpected(ToRefusal(status, pending));
  if (!result && status == 0 && !cancelled_) {
    return std::unexpected(NoAnswer(client_.server_.url, result.error()));
  }
  return {};
}

void Client::Watch::Cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (open_ != nullptr) open_->stop();
}

}  // namespace eidolon::controller::kube
