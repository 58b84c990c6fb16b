// Answers already given, by the hash of GPU and work item. Sharded so that threads seldom meet;
// bounded: a full shard starts over, which costs a recomputation and never a wrong answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "services/base/hash.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing {

// Thread safe.
class AnswerCache {
 public:
  // Requires: entries_max > 0.
  explicit AnswerCache(std::size_t entries_max);

  std::optional<model::Estimate> Find(base::Digest key) const;
  void Add(base::Digest key, const model::Estimate& estimate);
  void Clear();
  std::size_t size() const;

 private:
  struct DigestHash {
    std::size_t operator()(const base::Digest& d) const { return d.low; }
  };
  struct Shard {
    mutable std::mutex answers_mutex;
    std::unordered_map<base::Digest, model::Estimate, DigestHash> answers;
  };
  static constexpr std::size_t kShards = 16;

  const Shard& ShardOf(base::Digest key) const { return shards_[key.high % kShards]; }
  Shard& ShardOf(base::Digest key) { return shards_[key.high % kShards]; }

  std::size_t shard_entries_max_;
  std::array<Shard, kShards> shards_;
};

}  // namespace eidolon::timing
