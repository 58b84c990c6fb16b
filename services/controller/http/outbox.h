// The way of one answer from the worker that makes it to the poller that sends it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace eidolon::controller::http {

// Shared by one worker and the poller; thread safe. An answer of known length is taken as a whole,
// so that a slow reader holds memory (which is bounded) and no worker; one that goes on is made as
// it is read.
class Outbox {
 public:
  // `wake` tells the poller that there is something new.
  explicit Outbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  // The worker's side.
  // False when nobody reads any more. With `wait`, returns when little is left to be sent.
  bool Write(std::string_view bytes, bool wait);
  // The answer is complete; `keep_open`: the connection may be used again.
  void Finish(bool keep_open);
  // Returns whether the connection is gone.
  bool gone() const;
  // Whether the client may still want more: one that has ended its side gets what was asked for,
  // but nothing that goes on.
  bool open() const;

  // The poller's side.
  std::string Take();
  bool empty() const;
  // Finished, and everything taken.
  bool drained() const;
  bool keep_open() const;
  // The client has said that it will send no more: it may still read.
  void MarkHalfClosed();
  // The connection is gone.
  void Abandon();

 private:
  const std::function<void()> wake_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable taken_;
  std::string bytes_;
  bool finished_ = false;
  bool keep_open_ = false;
  bool half_closed_ = false;
  bool gone_ = false;
};

}  // namespace eidolon::controller::http
