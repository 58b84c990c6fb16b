#include "services/agent/session/result_values.h"

#include <algorithm>
#include <utility>

namespace eidolon::agent::session {

std::optional<ValuePlace> ResultValues::FindPlace(std::uint64_t number) const {
  const auto found = places_.find(number);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string_view> ResultValues::Find(const ValuePlace& place) const {
  const auto value = values_.find(place.call);
  if (value == values_.end()) return std::nullopt;
  std::string_view bytes;
  if (value->second.known) bytes = value->second.payload;
  if (place.bytes > 0) bytes = bytes.substr(std::min(place.offset, bytes.size()), place.bytes);
  return bytes;
}

void ResultValues::Add(const CallName& call, bool known, const std::string& payload,
                       const Answer& answer) {
  value_bytes_ += payload.size();
  values_[call] = {.known = known, .payload = payload};
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const auto bytes = Find(waiting.place);
    if (bytes.has_value()) answer(waiting.slot, *bytes);
    return bytes.has_value();
  });
  ForgetOld();
}

void ResultValues::ForgetOld() {
  while (value_bytes_ > kKeptBytes || values_.size() > kKept) {
    const CallName call = values_.begin()->first;
    value_bytes_ -= values_.begin()->second.payload.size();
    values_.erase(values_.begin());
    std::erase_if(places_, [&](const auto& place) { return place.second.call == call; });
  }
}

std::vector<std::uint32_t> ResultValues::TakeWaiting() {
  std::vector<std::uint32_t> slots;
  for (const Waiting& waiting : std::exchange(waiting_, {})) slots.push_back(waiting.slot);
  return slots;
}

}  // namespace eidolon::agent::session
