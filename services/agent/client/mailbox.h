// Passes work from other threads (gRPC readers, the command's reader, the socket's) to the main
// loop.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace eidolon::agent::client {

// Thread safe. Tasks are functions that the main loop runs in order of arrival.
class Mailbox {
 public:
  using Task = std::function<void()>;
  static constexpr std::size_t kLimit = 1 << 16;

  // `wake` is called after each post, on the posting thread.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Waits while the box is full. After Close tasks are dropped. Never from the main loop.
  void Post(Task task) {
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return closed_ || tasks_.size() < kLimit; });
      if (closed_) return;
      tasks_.push_back(std::move(task));
    }
    wake_();
  }

  // Main loop: everything that has arrived.
  std::vector<Task> TakeAll() {
    std::vector<Task> taken;
    {
      const std::lock_guard lock(mutex_);
      taken.swap(tasks_);
    }
    room_.notify_all();
    return taken;
  }

  // Lets waiting posters go and drops what they bring.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      tasks_.clear();
    }
    room_.notify_all();
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }

 private:
  std::function<void()> wake_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable room_;
  std::vector<Task> tasks_;
  bool closed_ = false;
};

}  // namespace eidolon::agent::client
