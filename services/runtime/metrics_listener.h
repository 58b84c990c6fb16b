// Answers GET /metrics over HTTP/1.1 with a page of text, for Prometheus. Everything else about
// HTTP is left out: no bodies, no kept connections, no TLS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"

namespace eidolon::runtime {

// Owns its socket and a thread, which answers until this object ends. Thread safe.
class MetricsListener {
 public:
  // `address`: "127.0.0.1:9464", "[::]:9464"; port 0 takes a free one. The page is made on the
  // listener's thread, once for each answer. The clock must outlive the listener.
  static base::Result<std::unique_ptr<MetricsListener>> Start(const std::string& address,
                                                              std::function<std::string()> page,
                                                              const base::RealClock& clock);
  ~MetricsListener();
  MetricsListener(const MetricsListener&) = delete;
  MetricsListener& operator=(const MetricsListener&) = delete;

  int port() const { return port_; }

  // More than these close the oldest: silent clients keep nobody out.
  static constexpr std::size_t kConnectionsMax = 16;
  static constexpr std::size_t kHeadBytesMax = 8192;
  // Time from the acceptance of a connection until its answer.
  static constexpr std::int64_t kDeadlineNs = 10'000'000'000;

 private:
  struct Connection {
    int fd = -1;
    std::int64_t until_ns = 0;
    std::string head;    // What has come of the request.
    std::string answer;  // What is left to send; empty until the head is whole.
  };

  MetricsListener(int listener, int port, std::function<std::string()> page,
                  const base::RealClock& clock);
  void Run();
  void Accept();
  // Returns whether the connection goes on.
  bool Read(Connection* connection);
  static bool Write(Connection* connection);
  void CloseFirst();
  std::string AnswerTo(const std::string& head) const;

  const int listener_;
  const int port_;
  const std::function<std::string()> page_;
  const base::RealClock& clock_;
  int stop_ = -1;                        // An eventfd, readable from when the thread is to end.
  std::vector<Connection> connections_;  // The oldest first; of the thread alone.
  std::thread thread_;
};

}  // namespace eidolon::runtime
