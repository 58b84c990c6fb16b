// YAML that somebody else wrote, within bounds that hold before anything is built from it: yaml-cpp
// would make some kilobytes of every few bytes, and aliases multiply without end. Its events are
// counted first, or handed on to a handler that builds what it needs and no more.
#pragma once

#include <yaml-cpp/eventhandler.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "services/base/error.h"

namespace eidolon::yaml {

struct Bounds {
  std::size_t text_bytes_max = 1u << 20;
  std::size_t depth_max = 64;
  // Of all documents in the text, keys left out and aliases resolved. What has an anchor counts
  // twice: it is kept.
  std::size_t values_max = 50'000;
  std::size_t scalar_bytes_max = 256u << 10;  // Of one.
  std::size_t scalars_bytes_max = 4u << 20;   // Of all, aliases resolved.
};

// Exception that a handler throws out of Read to refuse its input.
struct Refusal {
  std::string message;
};

// Gives the events of all documents in the text to the handler, in order; its OnAlias is called
// only with anchors whose value is complete. Fails where the text is no YAML, leaves the bounds or
// is refused by the handler; the message names the place, the bound and the way out.
base::Result<void> Read(std::string_view text, const Bounds& bounds, YAML::EventHandler* handler);

// Returns whether the text keeps within the bounds. What is no YAML is left to whoever loads it
// then.
base::Result<void> CheckBounds(std::string_view text, const Bounds& bounds);

}  // namespace eidolon::yaml
