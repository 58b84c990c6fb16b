// A mirrored rank needs one twin whose behaviour it copies, and a second live rank that shows
// whether values change from rank to rank. Values go on in a straight line or not at all: a step
// that is not a whole number, or a sum that overflows, means that the rule is another one, and the
// caller gets an empty answer.
#include "services/contract/folding/twins.h"

#include <cstring>
#include <iterator>
#include <unordered_map>

#include "services/base/text.h"

namespace eidolon::folding {

using base::StrCat;

namespace {

std::int64_t ReadInteger(const std::string& bytes, std::size_t at, std::size_t width) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, width);
  return width == 4 ? static_cast<std::int32_t>(word) : static_cast<std::int64_t>(word);
}

}  // namespace

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

// The nearest live members around a mirrored rank: ranks that differ by their numbers do so from
// some rank on, so that the one below is the more alike.
Twin Twins::TwinAmong(const LiveOfClass& live, std::uint32_t rank) {
  const auto above = live.upper_bound(rank);
  if (above == live.begin()) {
    const auto next = std::next(above);
    return {.live = above->second, .other = next == live.end() ? -1 : next->second};
  }
  const auto below = std::prev(above);
  if (above != live.end()) return {.live = below->second, .other = above->second};
  return {.live = below->second, .other = below == live.begin() ? -1 : std::prev(below)->second};
}

base::Result<Twins> Twins::Of(const Fold& fold, std::span<const std::uint32_t> members) {
  std::unordered_map<std::uint32_t, LiveOfClass> by_class;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (!fold.IsLive(members[rank])) continue;
    by_class[fold.ClassOf(members[rank])][members[rank]] = static_cast<std::int32_t>(rank);
  }
  Twins all;
  all.twins_.resize(members.size());
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (fold.IsLive(members[rank])) {
      all.live_.push_back(static_cast<std::int32_t>(rank));
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
    all.twins_[rank] = TwinAmong(live->second, members[rank]);
    ++all.count_;
  }
  if (all.count_ == 0) return Twins();
  return all;
}

std::optional<std::string> GoOnInSteps(std::size_t width, const LiveValue& a, const LiveValue& b,
                                       std::int32_t rank) {
  if (a.bytes.size() != b.bytes.size() || a.bytes.size() % width != 0) return std::nullopt;
  std::string result(a.bytes.size(), '\0');
  for (std::size_t at = 0; at < result.size(); at += width) {
    const auto value = OnLine(ReadInteger(a.bytes, at, width), ReadInteger(b.bytes, at, width),
                              a.rank, b.rank, rank);
    if (!value) return std::nullopt;
    std::memcpy(result.data() + at, &*value, width);
  }
  return result;
}

}  // namespace eidolon::folding
