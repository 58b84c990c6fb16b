#include "services/controller/http/outbox.h"

#include <utility>

namespace eidolon::controller::http {
namespace {

// Limit of how far a worker runs ahead of the reader of an answer that goes on.
constexpr std::size_t kAheadBytesMax = 128u << 10;

}  // namespace

bool Outbox::Write(std::string_view bytes, bool wait) {
  std::unique_lock lock(mutex_);
  if (gone_) return false;
  bytes_.append(bytes);
  lock.unlock();
  wake_();
  if (!wait) return true;
  lock.lock();
  taken_.wait(lock, [this] { return gone_ || bytes_.size() <= kAheadBytesMax; });
  return !gone_;
}

void Outbox::Finish(bool keep_open) {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    keep_open_ = keep_open;
  }
  wake_();
}

bool Outbox::gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

bool Outbox::open() const {
  const std::lock_guard lock(mutex_);
  return !gone_ && !half_closed_;
}

std::string Outbox::Take() {
  const std::lock_guard lock(mutex_);
  taken_.notify_all();
  return std::exchange(bytes_, {});
}

bool Outbox::empty() const {
  const std::lock_guard lock(mutex_);
  return bytes_.empty();
}

bool Outbox::drained() const {
  const std::lock_guard lock(mutex_);
  return finished_ && bytes_.empty();
}

bool Outbox::keep_open() const {
  const std::lock_guard lock(mutex_);
  return keep_open_;
}

void Outbox::MarkHalfClosed() {
  const std::lock_guard lock(mutex_);
  half_closed_ = true;
}

void Outbox::Abandon() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  std::string().swap(bytes_);
  taken_.notify_all();
}

}  // namespace eidolon::controller::http
