// Waits for a change in a list of objects of the store, and tells what has changed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "services/base/text.h"
#include "services/controller/embedded/controller_state.h"
#include "services/controller/embedded/store_answers.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::embedded {

// Of the namespace, or of all when it is empty: returns when an entry's version is above `after`,
// when there are not `known` entries any more, when the controller stops, or after `timeout`.
// `all()` gives pairs of a key and an entry, `summary(entry)` what the list shows of one.
template <typename All, typename Summary>
rest::ApiResult<rest::ListChange> AwaitList(ControllerState* state, const All& all,
                                            const std::string& name_space, std::int64_t after,
                                            std::size_t known, std::chrono::milliseconds timeout,
                                            const Summary& summary) {
  ControllerState::Lock lock(state->mutex());
  const auto is_asked_for = [&](const auto& entry) {
    return name_space.empty() || entry.name_space == name_space;
  };
  const auto has_changed = [&] {
    std::size_t count = 0;
    for (const auto& [uid, entry] : all()) {
      if (!is_asked_for(entry)) continue;
      if (entry.version > after) return true;
      ++count;
    }
    return state->is_stopping() || count != known;
  };
  state->AwaitChange(&lock, timeout, has_changed);
  if (state->is_stopping()) {
    return Refuse(base::ErrorCode::kUnavailable, "the controller is being stopped");
  }
  rest::ListChange change = {.changed = {}, .present = {}, .version = after};
  for (const auto& [uid, entry] : all()) {
    if (!is_asked_for(entry)) continue;
    change.present.insert(base::StrCat(entry.name_space, "/", entry.name));
    if (entry.version <= after) continue;
    change.version = std::max(change.version, entry.version);
    change.changed.push_back(summary(entry));
  }
  return change;
}

}  // namespace eidolon::controller::embedded
