#include "services/network/communicator/ghosts.h"

#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>

#include "services/base/text.h"
#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {

using base::StrCat;

namespace {

// Numbers that may count ranks; bytes are more likely text.
bool IsInteger(std::uint32_t type) {
  return type == kInt32 || type == kUint32 || type == kInt64 || type == kUint64;
}

std::int64_t ReadInteger(const std::string& bytes, std::size_t at, std::size_t width) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, width);
  return width == 4 ? static_cast<std::int32_t>(word) : static_cast<std::int64_t>(word);
}

// The value of `rank` on the line through (a, at_a) and (b, at_b); nothing when its steps are not
// whole numbers.
std::optional<std::int64_t> OnLine(std::int64_t at_a, std::int64_t at_b, std::int32_t a,
                                   std::int32_t b, std::int32_t rank) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(at_b, at_a, &difference)) return std::nullopt;
  if (difference % (b - a) != 0) return std::nullopt;
  std::int64_t value = 0;
  if (__builtin_mul_overflow(difference / (b - a), std::int64_t{rank - a}, &value) ||
      __builtin_add_overflow(value, at_a, &value)) {
    return std::nullopt;
  }
  return value;
}

struct LiveInput {
  std::int32_t rank = 0;
  const std::string& bytes;
};

// What `rank` gives when the integers of its class go on in equal steps.
std::optional<std::string> Extrapolate(std::uint32_t type, const LiveInput& a, const LiveInput& b,
                                       std::int32_t rank) {
  const std::size_t width = ElementBytes(type);
  if (!IsInteger(type) || a.bytes.size() != b.bytes.size() || a.bytes.size() % width != 0) {
    return std::nullopt;
  }
  std::string result(a.bytes.size(), '\0');
  for (std::size_t at = 0; at < result.size(); at += width) {
    const auto value = OnLine(ReadInteger(a.bytes, at, width), ReadInteger(b.bytes, at, width),
                              a.rank, b.rank, rank);
    if (!value) return std::nullopt;
    std::memcpy(result.data() + at, &*value, width);
  }
  return result;
}

}  // namespace

// The nearest live members around a ghost: ranks that differ by their numbers do so from some rank
// on, so that the one below is the more alike.
Ghosts::Twin Ghosts::TwinAmong(const LiveOfClass& live, std::uint32_t rank) {
  const auto above = live.upper_bound(rank);
  if (above == live.begin()) {
    const auto next = std::next(above);
    return {.live = above->second, .other = next == live.end() ? -1 : next->second};
  }
  const auto below = std::prev(above);
  if (above != live.end()) return {.live = below->second, .other = above->second};
  return {.live = below->second, .other = below == live.begin() ? -1 : std::prev(below)->second};
}

base::Result<Ghosts> Ghosts::Of(const folding::Fold& fold, std::span<const std::uint32_t> members) {
  std::unordered_map<std::uint32_t, LiveOfClass> by_class;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (!fold.IsLive(members[rank])) continue;
    by_class[fold.ClassOf(members[rank])][members[rank]] = static_cast<std::int32_t>(rank);
  }
  Ghosts ghosts;
  ghosts.twins_.resize(members.size());
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (fold.IsLive(members[rank])) {
      ghosts.live_.push_back(static_cast<std::int32_t>(rank));
      continue;
    }
    const auto live = by_class.find(fold.ClassOf(members[rank]));
    if (live == by_class.end()) {
      return base::Fail(base::ErrorCode::kFailedPrecondition,
                        StrCat("rank ", members[rank],
                               " is mirrored, and no live rank of its class is a member; make it "
                               "live (--live ",
                               members[rank], ")"));
    }
    ghosts.twins_[rank] = TwinAmong(live->second, members[rank]);
    ++ghosts.count_;
  }
  if (ghosts.count_ == 0) return Ghosts();
  return ghosts;
}

std::size_t Ghosts::Mirror(const Operation& operation, std::vector<Payload>* inputs) const {
  std::size_t guessed = 0;
  if (count_ == 0) return guessed;
  for (std::size_t rank = 0; rank < twins_.size(); ++rank) {
    const Twin& twin = twins_[rank];
    if (twin.live < 0) continue;
    const Payload& live = (*inputs)[static_cast<std::size_t>(twin.live)];
    const Payload* other =
        twin.other < 0 ? nullptr : &(*inputs)[static_cast<std::size_t>(twin.other)];
    (*inputs)[rank] =
        Follow(operation.data_type, static_cast<std::int32_t>(rank), twin, live, other, &guessed);
  }
  return guessed;
}

Payload Ghosts::GivenBy(const Operation& broadcast, const std::map<std::int32_t, Payload>& by_root,
                        std::size_t* guessed) const {
  const Twin& twin = twins_[static_cast<std::size_t>(broadcast.root)];
  const auto live = by_root.find(twin.live);
  if (live == by_root.end()) return std::nullopt;
  const auto other = by_root.find(twin.other);
  return Follow(broadcast.data_type, broadcast.root, twin, live->second,
                other == by_root.end() ? nullptr : &other->second, guessed);
}

Payload Ghosts::Follow(std::uint32_t type, std::int32_t rank, const Twin& twin, const Payload& live,
                       const Payload* other, std::size_t* guessed) {
  if (!live || other == nullptr || !*other || **other == *live) return live;
  auto value = Extrapolate(type, {twin.live, *live}, {twin.other, **other}, rank);
  if (value) return value;
  ++*guessed;
  return live;
}

}  // namespace eidolon::network::communicator
