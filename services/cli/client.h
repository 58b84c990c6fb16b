// The HTTP client of the command: what a controller answers, or why it cannot be asked.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/base/error.h"
#include "services/cli/target.h"

namespace eidolon::cli {

struct HttpRequest {
  std::string method = "GET";
  std::string path;
  std::string body;
  std::string content_type;
};

// Thread safe: each call has a connection of its own.
class Client {
 public:
  // Without a socket the server is "http://host:port" or "host:port".
  explicit Client(Target target);

  // The body of a successful answer. An answer of 400 and more becomes an error with all problems
  // in its message, one a line.
  base::Result<std::string> Send(const HttpRequest& request) const;
  base::Result<nlohmann::json> SendForJson(const HttpRequest& request) const;
  // Hands out the body as it comes; the receiver answers false to end it.
  base::Result<void> Stream(const std::string& path,
                            const std::function<bool(const std::string&)>& receiver) const;

  const std::string& server() const { return target_.server; }

 private:
  Target target_;
};

// The message of a problem document (or any other body) that came with `status`.
std::string DescribeProblem(int status, const std::string& body);

}  // namespace eidolon::cli
