// A thread that makes blocking calls one after another, so that the main loop never waits for a
// service.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace eidolon::agent::client {

// Thread safe. The queue's length is bounded by its callers: each has a fixed number of calls open.
class RpcWorker {
 public:
  RpcWorker() : thread_([this] { Work(); }) {}
  ~RpcWorker() {
    Stop();
    thread_.join();
  }
  RpcWorker(const RpcWorker&) = delete;
  RpcWorker& operator=(const RpcWorker&) = delete;

  void Add(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
    }
    filled_.notify_one();
  }

  // Calls that did not start are dropped. The one that runs must be cancelled by its owner.
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    filled_.notify_one();
  }

 private:
  void Work() {
    while (true) {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [&] { return stopped_ || !calls_.empty(); });
      if (stopped_) return;
      const auto call = std::move(calls_.front());
      calls_.pop_front();
      lock.unlock();
      call();
    }
  }

  std::mutex mutex_;  // Guards stopped_ and calls_.
  std::condition_variable filled_;
  bool stopped_ = false;
  std::deque<std::function<void()>> calls_;
  std::thread thread_;  // Last: starts when the rest is ready.
};

}  // namespace eidolon::agent::client
