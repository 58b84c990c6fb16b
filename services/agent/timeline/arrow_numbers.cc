#include "services/agent/timeline/arrow_numbers.h"

#include <algorithm>

namespace eidolon::agent::timeline {

namespace {

constexpr std::uint32_t kSingle = std::uint32_t{1} << 31;
constexpr std::uint64_t kMultiplier = 0x9e37'79b9'7f4a'7c15;

}  // namespace

std::uint64_t ArrowNumbers::ContextOf(std::size_t position) const {
  std::uint64_t hash = 0;
  for (std::size_t i = position + 1 - std::min(position + 1, kAlike); i <= position; ++i) {
    hash = (hash ^ past_[i].what) * kMultiplier;
    hash ^= hash >> 29;
  }
  return hash;
}

std::size_t ArrowNumbers::FindFree(const Arrow& arrow,
                                   const std::vector<std::uint32_t>& places) const {
  const std::size_t last = past_.size() - 1;  // The arrow itself.
  if (following_ != 0 && following_ < last && past_[following_].what == arrow.what &&
      IsFree(past_[following_].number, arrow.from)) {
    return following_;
  }
  auto place = std::ranges::lower_bound(places, over_);
  for (std::size_t look = 0; look < kLooks && place != places.begin(); ++look) {
    --place;
    if (IsFree(past_[*place].number, arrow.from)) return *place;
  }
  return last;
}

ArrowNumbers::Number ArrowNumbers::Next(const Arrow& arrow) {
  // An arrow that begins where it ends, or leads back, ends before it begins for who reads events
  // in the order of their times.
  if (arrow.to <= arrow.from) return {.value = kSingle | single_++, .ends = false};
  const std::size_t position = past_.size();
  while (over_ < position && past_[over_].to < arrow.from) ++over_;
  past_.push_back({.to = arrow.to, .what = arrow.what, .number = 0});
  std::vector<std::uint32_t>& places = places_[ContextOf(position)];
  const std::size_t found = FindFree(arrow, places);
  std::uint32_t& number = past_[position].number;
  if (found < position) {
    number = past_[found].number;
    following_ = found + 1;
  } else {
    number = static_cast<std::uint32_t>(busy_.size());
    busy_.push_back(0);
    following_ = 0;
  }
  busy_[number] = arrow.to;
  places.push_back(static_cast<std::uint32_t>(position));
  return {.value = number, .ends = true};
}

}  // namespace eidolon::agent::timeline
