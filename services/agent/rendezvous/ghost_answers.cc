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

// "0" and "3:5": how the NCCL backend calls unique ids.
bool NamesUniqueId(std::string_view key) {
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos) return IsNumber(key);
  return IsNumber(key.substr(0, colon)) && IsNumber(key.substr(colon + 1));
}

// "0/nccl_storekey_0_1": the same where a communicator has several.
bool NamesUniqueIdOfMany(std::string_view key) {
  constexpr std::string_view kOfMany = "/nccl_storekey_";
  const std::size_t name = key.find(kOfMany);
  if (name == std::string_view::npos || !IsNumber(key.substr(0, name))) return false;
  key.remove_prefix(name + kOfMany.size());
  const std::size_t between = key.find('_');
  return between != std::string_view::npos && IsNumber(key.substr(0, between)) &&
         IsNumber(key.substr(between + 1));
}

}  // namespace

std::optional<std::string> GhostValue(std::string_view key) {
  // Directly behind the backend's prefix: Gloo's addresses ("//cpu//0/3", or "//cuda//0/3" and
  // "//cuda//pg_wrapper:0/0/3") look the same further below.
  constexpr std::string_view kBackend = "//cuda//";
  const std::size_t backend = key.rfind(kBackend);
  if (backend == std::string_view::npos) return std::nullopt;
  const std::string_view name = key.substr(backend + kBackend.size());
  if (!NamesUniqueId(name) && !NamesUniqueIdOfMany(name)) {
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
