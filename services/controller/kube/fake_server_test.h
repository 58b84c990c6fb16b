// An API server for tests: real HTTP, answers by a script. It can do what a real one does seldom.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace eidolon::controller::kube {

struct Call {
  std::string method;
  std::string path;   // With its query.
  std::string token;  // Without "Bearer".
  std::string content_type;
  std::string body;
  std::string user_agent = "";
  std::string as_user = "";                 // Impersonate-User.
  std::vector<std::string> as_groups = {};  // Impersonate-Group.
};

struct Reply {
  int status = 200;
  std::string body;
  std::string retry_after;
};

Reply Json(const nlohmann::json& object, int status = 200);
// A failure as the API server words it.
Reply Status(int status, const std::string& reason);
// A watch that tells these events and ends.
Reply Events(const std::vector<nlohmann::json>& events);

// Thread safe.
class FakeServer {
 public:
  using Handler = std::function<Reply(const Call&)>;

  explicit FakeServer(Handler handler);
  ~FakeServer();

  std::string url() const;
  std::vector<Call> calls() const;

 private:
  struct Http;
  const Handler handler_;
  mutable std::mutex mutex_;  // Guards calls_, and makes calls of the handler one after another.
  std::vector<Call> calls_;
  std::unique_ptr<Http> http_;
};

}  // namespace eidolon::controller::kube
