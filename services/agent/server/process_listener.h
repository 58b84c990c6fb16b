// The thread at the server's socket: takes introductions and notices when a process is gone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "services/agent/client/mailbox.h"
#include "services/base/error.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/virtual_sleep.h"

namespace eidolon::agent::server {

// Made, used and destroyed by the main loop; handlers run as tasks of the mailbox, which outlives
// it. A connection is named by its descriptor, which stays open until CloseConnection.
class ProcessListener {
 public:
  struct Handlers {
    std::function<void(int connection, const ::eidolon::ring::Hello&)> on_hello;
    std::function<void(int connection, const ::eidolon::ring::VirtualSleep&)> on_virtual_sleep;
    std::function<void(int connection)> on_hang_up;  // Once, after on_hello or on_virtual_sleep.
  };
  static base::Result<std::unique_ptr<ProcessListener>> Start(const std::string& run_directory,
                                                              Handlers handlers,
                                                              client::Mailbox* mailbox);
  ~ProcessListener();
  ProcessListener(const ProcessListener&) = delete;
  ProcessListener& operator=(const ProcessListener&) = delete;

  // Called after on_hang_up, or for a connection that was refused.
  static void CloseConnection(int connection);

 private:
  ProcessListener() = default;
  void Watch();
  void TakeNew();
  void Hear(int connection);

  Handlers handlers_;
  client::Mailbox* mailbox_ = nullptr;
  int listener_ = -1;
  int poller_ = -1;
  int stop_ = -1;
  std::map<int, bool> introduced_;  // By connection. The thread's own.
  std::thread thread_;
};

}  // namespace eidolon::agent::server
