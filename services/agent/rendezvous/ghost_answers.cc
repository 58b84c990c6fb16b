#include "services/agent/rendezvous/ghost_answers.h"

#include <algorithm>
#include <cstring>

#include "services/base/hash.h"
#include "services/base/random.h"

namespace eidolon::agent::rendezvous {
namespace {

constexpr std::size_t kUniqueIdBytes = 128;  // ncclUniqueId.

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "0", "17", "3:5", "nccl_storekey_0_1": how the NCCL backend calls unique ids.
bool NamesUniqueId(std::string_view key) {
  constexpr std::string_view kOfMany = "nccl_storekey_";
  if (key.starts_with(kOfMany)) {
    key.remove_prefix(kOfMany.size());
    const std::size_t between = key.find('_');
    return between != std::string_view::npos && IsNumber(key.substr(0, between)) &&
           IsNumber(key.substr(between + 1));
  }
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos) return IsNumber(key);
  return IsNumber(key.substr(0, colon)) && IsNumber(key.substr(colon + 1));
}

}  // namespace

std::optional<std::string> GhostValue(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  // Keys of other backends (Gloo's addresses under "//cpu//") look the same.
  const bool is_nccl = key.find("//cuda//") != std::string_view::npos;
  if (!is_nccl || slash == std::string_view::npos || !NamesUniqueId(key.substr(slash + 1))) {
    return std::nullopt;
  }
  base::Random words(base::Hash64(key.data(), key.size()));
  std::string id(kUniqueIdBytes, '\0');
  for (std::size_t at = 0; at < id.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = words.Next();
    std::memcpy(id.data() + at, &word, sizeof(word));
  }
  return id;
}

std::int64_t GhostCount(const World& world, std::string_view key, std::int64_t sum) {
  const auto live = static_cast<std::int64_t>(world.live.size());
  const bool counts_ranks = key.find("store_based_barrier_key") != std::string_view::npos;
  return counts_ranks && sum == live ? world.size - live : 0;
}

}  // namespace eidolon::agent::rendezvous
