#include "services/controller/kube/fake_server_test.h"

#include <httplib.h>

#include <thread>

namespace eidolon::controller::kube {

using nlohmann::json;

struct FakeServer::Http {
  httplib::Server server;
  std::thread thread;
  int port = 0;
};

Reply Json(const json& object, int status) {
  return {.status = status, .body = object.dump(), .retry_after = {}};
}

Reply Status(int status, const std::string& reason) {
  return Json({{"kind", "Status"}, {"code", status}, {"reason", reason}, {"message", reason}},
              status);
}

Reply Events(const std::vector<json>& events) {
  Reply reply;
  for (const json& event : events) reply.body += event.dump() + "\n";
  return reply;
}

FakeServer::FakeServer(Handler handler)
    : handler_(std::move(handler)), http_(std::make_unique<Http>()) {
  const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
    std::string token = request.get_header_value("Authorization");
    if (token.starts_with("Bearer ")) token = token.substr(7);
    Call call = {.method = request.method,
                 .path = request.target,
                 .token = token,
                 .content_type = request.get_header_value("Content-Type"),
                 .body = request.body,
                 .user_agent = request.get_header_value("User-Agent"),
                 .as_user = request.get_header_value("Impersonate-User"),
                 .as_groups = {}};
    const auto groups = request.headers.equal_range("Impersonate-Group");
    for (auto at = groups.first; at != groups.second; ++at) call.as_groups.push_back(at->second);
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    const Reply reply = handler_(call);
    response.status = reply.status;
    if (!reply.retry_after.empty()) response.set_header("Retry-After", reply.retry_after);
    response.set_content(reply.body, "application/json");
  };
  http_->server.Get(".*", answer);
  http_->server.Post(".*", answer);
  http_->server.Put(".*", answer);
  http_->server.Patch(".*", answer);
  http_->server.Delete(".*", answer);
  http_->server.set_keep_alive_timeout(1);
  http_->port = http_->server.bind_to_any_port("127.0.0.1");
  http_->thread = std::thread([this] { http_->server.listen_after_bind(); });
  while (!http_->server.is_running()) std::this_thread::yield();
}

FakeServer::~FakeServer() {
  http_->server.stop();
  http_->thread.join();
}

std::string FakeServer::url() const { return "http://127.0.0.1:" + std::to_string(http_->port); }

std::vector<Call> FakeServer::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

}  // namespace eidolon::controller::kube
