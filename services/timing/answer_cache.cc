#include "services/timing/answer_cache.h"

#include "services/base/check.h"

namespace eidolon::timing {

AnswerCache::AnswerCache(std::size_t entries_max)
    : shard_entries_max_((entries_max + kShards - 1) / kShards) {
  CHECK(entries_max > 0);
}

std::optional<model::Estimate> AnswerCache::Find(base::Digest key) const {
  const Shard& shard = ShardOf(key);
  const std::lock_guard lock(shard.answers_mutex);
  const auto found = shard.answers.find(key);
  if (found == shard.answers.end()) return std::nullopt;
  return found->second;
}

void AnswerCache::Add(base::Digest key, const model::Estimate& estimate) {
  Shard& shard = ShardOf(key);
  const std::lock_guard lock(shard.answers_mutex);
  if (shard.answers.size() >= shard_entries_max_) shard.answers.clear();
  shard.answers.insert_or_assign(key, estimate);
}

void AnswerCache::Clear() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.answers_mutex);
    shard.answers.clear();
  }
}

std::size_t AnswerCache::size() const {
  std::size_t total = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.answers_mutex);
    total += shard.answers.size();
  }
  return total;
}

}  // namespace eidolon::timing
