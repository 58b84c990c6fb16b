// The values that ranks leave for each other while they meet: what c10d::TCPStore keeps. Pure: no
// sockets, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace eidolon::agent::rendezvous {

// Keys are bytes, as are values. Not thread safe.
class KeyValueStore {
 public:
  void Set(const std::string& key, std::string value);
  // Sets `desired` where the value is `expected`, or where there is none and `expected` is empty.
  // The value then; `expected` where there is still none.
  std::string CompareSet(const std::string& key, const std::string& expected, std::string desired);
  // Null: there is none.
  const std::string* Find(const std::string& key) const;
  // A value that is a number in decimal digits; what is none counts as 0. The sum, which becomes
  // the value.
  std::int64_t Add(const std::string& key, std::int64_t amount);
  void Append(const std::string& key, const std::string& value);
  // Returns whether the key was there.
  bool Delete(const std::string& key);
  std::size_t size() const { return values_.size(); }
  const std::map<std::string, std::string>& values() const { return values_; }

  // Queues have keys of their own.
  void Push(const std::string& key, std::string value);
  // Nothing: the queue is empty.
  std::optional<std::string> Pop(const std::string& key);
  std::size_t QueueLength(const std::string& key) const;

  // Returns whether the key has a value, or a queue that is not empty.
  bool Has(const std::string& key) const;
  bool HasAll(std::span<const std::string> keys) const;

  // Values, and members of queues.
  std::size_t entries() const { return values_.size() + queued_; }
  // Returns the bytes of all keys and values.
  std::size_t bytes() const { return bytes_; }

 private:
  std::string& At(const std::string& key);

  std::map<std::string, std::string> values_;
  std::map<std::string, std::deque<std::string>> queues_;  // None of them empty.
  std::size_t queued_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace eidolon::agent::rendezvous
