// A mirrored rank has no process that could set its keys, and a live rank that waits for one would
// wait for ever. A wrong answer is worse than none, because the program would go on with it. So
// only keys of a known form are answered, recognised by their exact shape, and all who ask get the
// same value: a unique id is made of the key's own hash. Counters jump by the number of mirrored
// ranks when the last live rank has come, which is when the mirrored ones would have come at the
// latest.
#include "services/agent/rendezvous/mirrored_answers.h"

#include <algorithm>
#include <cstring>

#include "services/base/hash.h"
#include "services/base/random.h"
#include "services/base/text.h"

namespace eidolon::agent::rendezvous {
namespace {

constexpr std::size_t kUniqueIdBytes = 128;   // ncclUniqueId.
constexpr std::size_t kHashedNameBytes = 40;  // SHA-1 of a group's ranks, in hex.
constexpr std::string_view kBarrier = "store_based_barrier_key:";
constexpr std::string_view kLastWorker = ":last_worker";
// Gloo groups that connect all their members when they are made.
constexpr std::string_view kNoGloo =
    " has no Gloo; PyTorch 2.8 and later do without, unless the program sets TORCH_GLOO_LAZY_INIT";

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool IsHashedName(std::string_view text) {
  return text.size() == kHashedNameBytes && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Text before and behind the separator's first occurrence; nothing where it does not occur.
struct Halves {
  std::string_view before;
  std::string_view behind;
};
std::optional<Halves> Cut(std::string_view text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return Halves{.before = text.substr(0, at), .behind = text.substr(at + separator.size())};
}

// "0" and "3:5": how the NCCL backend calls unique ids.
bool NamesUniqueId(std::string_view key) {
  const auto pair = Cut(key, ":");
  return pair.has_value() ? IsNumber(pair->before) && IsNumber(pair->behind) : IsNumber(key);
}

// "0/nccl_storekey_0_1": the same where a communicator has several.
bool NamesUniqueIdOfMany(std::string_view key) {
  const auto halves = Cut(key, "/nccl_storekey_");
  if (!halves.has_value() || !IsNumber(halves->before)) return false;
  const auto numbers = Cut(halves->behind, "_");
  return numbers.has_value() && IsNumber(numbers->before) && IsNumber(numbers->behind);
}

// "<hash>//store_based_barrier_key:<hash>", of a group that only its members make.
bool IsBarrierOfMembers(std::string_view key) {
  const auto halves = Cut(key, kBarrier);
  return halves.has_value() && IsHashedName(halves->behind) &&
         halves->before.ends_with("/" + std::string(halves->behind) + "//");
}

std::string MadeUpUniqueId(std::string_view key) {
  base::Random words(base::Hash64(key.data(), key.size()));
  std::string id(kUniqueIdBytes, '\0');
  for (std::size_t at = 0; at < id.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = words.Next();
    std::memcpy(id.data() + at, &word, sizeof(word));
  }
  return id;
}

// "//cpu//0/3", "//cuda//0/3" and "//cuda//pg_wrapper:0/0/3" end in the rank's number: 3.
std::optional<std::string_view> RankOfGlooAddress(std::string_view key) {
  const std::size_t last = key.rfind('/');
  if (last == std::string_view::npos || !IsNumber(key.substr(last + 1))) return std::nullopt;
  const std::string_view group = key.substr(0, last);
  const std::size_t sequence = group.rfind('/');
  if (sequence == std::string_view::npos || !IsNumber(group.substr(sequence + 1))) {
    return std::nullopt;
  }
  const std::string_view prefix = group.substr(0, sequence);
  const bool is_wrapper = prefix.find("//pg_wrapper:") != std::string_view::npos;
  // "//<device>/" without more slashes.
  const std::size_t device = prefix.rfind("//");
  const bool is_device = device != std::string_view::npos && prefix.ends_with('/') &&
                         prefix.size() > device + 3 &&
                         prefix.substr(device + 2).find('/') == prefix.size() - device - 3;
  if (!is_wrapper && !is_device) return std::nullopt;
  return key.substr(last + 1);
}

}  // namespace

std::optional<std::string> MirroredValue(std::string_view key) {
  if (key.ends_with(kLastWorker) &&
      IsBarrierOfMembers(key.substr(0, key.size() - kLastWorker.size()))) {
    return "1";
  }
  // Directly behind the backend's prefix: Gloo's addresses look the same further below.
  constexpr std::string_view kBackend = "//cuda//";
  const std::size_t backend = key.rfind(kBackend);
  if (backend == std::string_view::npos) return std::nullopt;
  const std::string_view name = key.substr(backend + kBackend.size());
  if (!NamesUniqueId(name) && !NamesUniqueIdOfMany(name) && name != "nccl4py_uid") {
    return std::nullopt;
  }
  return MadeUpUniqueId(key);
}

std::int64_t MirroredCount(const World& world, std::string_view key, std::int64_t sum) {
  const auto live = static_cast<std::int64_t>(world.live.size());
  const bool counts_all = key.find(kBarrier) != std::string_view::npos && !IsBarrierOfMembers(key);
  const bool counts_ranks = counts_all || key.ends_with("/num_members");
  return counts_ranks && sum == live ? world.size - live : 0;
}

std::int64_t MirroredRanksAtBarrier(const World& world, std::int64_t ranks, std::int64_t arrived) {
  const auto live = static_cast<std::int64_t>(world.live.size());
  return ranks == world.size && arrived == live ? world.size - live : 0;
}

std::string WhyNobodySets(std::string_view key) {
  if (key.find("AsyncCheckpointProcess/") != std::string_view::npos) {
    return base::StrCat(
        "the process that writes checkpoints meets those of all other ranks over Gloo, and a "
        "mirrored rank",
        kNoGloo);
  }
  if (key.ends_with("/last_member"))
    return "mirrored ranks come to barriers of the whole job alone";
  const auto rank = RankOfGlooAddress(key);
  if (!rank.has_value()) return "";
  if (key.find("//pg_wrapper:") != std::string_view::npos) {
    return base::StrCat(
        "TORCH_DISTRIBUTED_DEBUG=DETAIL compares collectives over Gloo, and a mirrored rank, "
        "here rank ",
        *rank, " of the group,", kNoGloo);
  }
  return base::StrCat("it is the address of rank ", *rank, " of a Gloo group, and a mirrored rank",
                      kNoGloo);
}

}  // namespace eidolon::agent::rendezvous
