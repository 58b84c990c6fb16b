#include "services/agent/rendezvous/key_value_store.h"

#include <algorithm>
#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::rendezvous {

// The value, which is empty where there was none.
std::string& KeyValueStore::At(const std::string& key) {
  const auto [found, is_new] = values_.try_emplace(key);
  if (is_new) bytes_ += key.size();
  return found->second;
}

void KeyValueStore::Set(const std::string& key, std::string value) {
  std::string& kept = At(key);
  bytes_ += value.size() - kept.size();
  kept = std::move(value);
}

std::string KeyValueStore::CompareSet(const std::string& key, const std::string& expected,
                                      std::string desired) {
  const std::string* value = Find(key);
  if (value == nullptr && !expected.empty()) return expected;
  if (value == nullptr || *value == expected) Set(key, std::move(desired));
  return values_.at(key);
}

const std::string* KeyValueStore::Find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::int64_t KeyValueStore::Add(const std::string& key, std::int64_t amount) {
  const std::string* value = Find(key);
  const std::int64_t before = value == nullptr ? 0 : base::ParseInteger(*value).value_or(0);
  const auto sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                             static_cast<std::uint64_t>(amount));
  Set(key, std::to_string(sum));
  return sum;
}

void KeyValueStore::Append(const std::string& key, const std::string& value) {
  At(key) += value;
  bytes_ += value.size();
}

bool KeyValueStore::Delete(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  bytes_ -= key.size() + found->second.size();
  values_.erase(found);
  return true;
}

void KeyValueStore::Push(const std::string& key, std::string value) {
  bytes_ += key.size() + value.size();
  ++queued_;
  queues_[key].push_back(std::move(value));
}

std::optional<std::string> KeyValueStore::Pop(const std::string& key) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return std::nullopt;
  std::string first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
  bytes_ -= key.size() + first.size();
  --queued_;
  return first;
}

std::size_t KeyValueStore::QueueLength(const std::string& key) const {
  const auto found = queues_.find(key);
  return found == queues_.end() ? 0 : found->second.size();
}

bool KeyValueStore::Has(const std::string& key) const {
  return values_.contains(key) || queues_.contains(key);
}

bool KeyValueStore::HasAll(std::span<const std::string> keys) const {
  return std::ranges::all_of(keys, [this](const std::string& key) { return Has(key); });
}

}  // namespace eidolon::agent::rendezvous
