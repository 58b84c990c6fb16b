// Live members of a group tell each other what they put into a collective, over Gloo's own
// connections: pairs of live members are connected as ever, those with mirrored ranks never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "shim/pytorch/gloo/group.h"
#include "shim/pytorch/gloo/inputs.h"
#include "shim/pytorch/gloo/options.h"

namespace eidolon::shim::gloo {

// One call of a collective by this process.
struct Call {
  Context* context = nullptr;
  std::shared_ptr<const Group> group;
  std::uint32_t tag = 0;  // Unique among the collectives of a context that overlap.
  std::int64_t timeout_ms = 0;
};

// Bytes for another live member.
struct Part {
  std::int32_t rank = 0;
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// Number of bytes that another live member has for this one.
struct Expected {
  std::int32_t rank = 0;
  std::size_t bytes = 0;
};

// Sends and receives; returns when all has passed. Gloo throws when the time is over or a
// connection fails, as it does in a collective of its own.
ByRank Exchange(const Call& call, std::span<const Part> given, std::span<const Expected> expected);

// Every live member sends the same bytes to every other one. The answer has this member's, too.
ByRank ExchangeWithAll(const Call& call, const void* data, std::size_t bytes);

}  // namespace eidolon::shim::gloo
