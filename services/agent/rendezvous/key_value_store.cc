#include "services/agent/rendezvous/key_value_store.h"

#include <algorithm>
#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::rendezvous {

std::string KeyValueStore::CompareSet(const std::string& key, const std::string& expected,
                                      std::string desired) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    if (!expected.empty()) return expected;
    return values_[key] = std::move(desired);
  }
  if (found->second == expected) found->second = std::move(desired);
  return found->second;
}

const std::string* KeyValueStore::Find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::int64_t KeyValueStore::Add(const std::string& key, std::int64_t amount) {
  std::string& value = values_[key];
  const auto sum = static_cast<std::uint64_t>(base::ParseInteger(value).value_or(0)) +
                   static_cast<std::uint64_t>(amount);
  value = std::to_string(static_cast<std::int64_t>(sum));
  return static_cast<std::int64_t>(sum);
}

bool KeyValueStore::Delete(const std::string& key) { return values_.erase(key) > 0; }

std::optional<std::string> KeyValueStore::Pop(const std::string& key) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return std::nullopt;
  std::string first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
  return first;
}

std::size_t KeyValueStore::QueueLength(const std::string& key) const {
  const auto found = queues_.find(key);
  return found == queues_.end() ? 0 : found->second.size();
}

bool KeyValueStore::HasAll(std::span<const std::string> keys) const {
  return std::ranges::all_of(keys, [this](const std::string& key) {
    return values_.contains(key) || queues_.contains(key);
  });
}

}  // namespace eidolon::agent::rendezvous
