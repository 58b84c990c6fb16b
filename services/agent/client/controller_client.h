// The agent's end of the controller: hello, assignment, reports, and the order to stop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "services/agent/client/mailbox.h"
#include "services/base/error.h"

namespace eidolon::controller::v1 {
class AgentReport;
class Assignment;
}  // namespace eidolon::controller::v1

namespace eidolon::agent::client {

// Main loop only; tasks go to the mailbox, which outlives the client.
class ControllerClient {
 public:
  struct Options {
    std::string address;
    std::string token;
    std::chrono::milliseconds patience{0};  // For which a connection is tried.
  };
  explicit ControllerClient(Options options);
  ~ControllerClient();  // Cancels the stream.

  // Says hello and waits for the assignment. Blocks.
  base::Result<controller::v1::Assignment> Introduce();

  struct Handlers {
    std::function<void(const std::string& reason)> on_stop;
    std::function<void(const base::Error&)> on_end;  // Once, however the stream ends.
  };
  // From now on orders are read. Requires: Introduce succeeded.
  void Listen(Handlers handlers, Mailbox* mailbox);

  void Send(const controller::v1::AgentReport& report);
  // No more reports; waits for the controller to end the stream, at most `limit_ms`.
  void Finish(int limit_ms);

 private:
  struct Link;
  std::unique_ptr<Link> link_;
};

}  // namespace eidolon::agent::client
