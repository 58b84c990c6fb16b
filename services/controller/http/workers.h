// Threads that answer requests, fair between clients.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace eidolon::controller::http {

// Clients are served one after another, however many requests each has sent. Add is thread safe.
// The queue is bounded by who adds: one request per connection.
class Workers {
 public:
  explicit Workers(std::size_t threads);
  ~Workers() { Stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Add(const std::string& client, std::function<void()> task);
  // Returns when all that was added has run.
  void Stop();

 private:
  void Run();
  // Requires: the lock, and something that waits.
  std::function<void()> TakeNext();

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable added_;
  std::map<std::string, std::deque<std::function<void()>>> waiting_;  // By client; none is empty.
  std::deque<std::string> order_;  // The clients of waiting_; the next one is in front.
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace eidolon::controller::http
