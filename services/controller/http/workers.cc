#include "services/controller/http/workers.h"

#include <utility>

namespace eidolon::controller::http {

Workers::Workers(std::size_t threads) {
  for (std::size_t at = 0; at < threads; ++at) threads_.emplace_back([this] { Run(); });
}

void Workers::Add(const std::string& client, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  auto& tasks = waiting_[client];
  if (tasks.empty()) order_.push_back(client);
  tasks.push_back(std::move(task));
  added_.notify_one();
}

void Workers::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    added_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::function<void()> Workers::TakeNext() {
  const std::string client = std::move(order_.front());
  order_.pop_front();
  const auto found = waiting_.find(client);
  std::function<void()> task = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) {
    waiting_.erase(found);
  } else {
    order_.push_back(client);
  }
  return task;
}

void Workers::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return stopping_ || !order_.empty(); });
    if (order_.empty()) return;
    std::function<void()> task = TakeNext();
    lock.unlock();
    task();
    task = nullptr;  // What it held goes before the lock is taken.
    lock.lock();
  }
}

}  // namespace eidolon::controller::http
