// Interning of a definition that brings its replay context (services/contract/ring/replay.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace eidolon::shim::core {

// A definition as it is kept, for as long as the process lives.
struct InternedWork {
  std::uint32_t id = 0;                   // 0: none.
  const std::byte* definition = nullptr;  // As many bytes as were given.
};

// Works as Session::InternWork, of the one session. `context` goes with a new definition; it is
// left out when both are too large for a record. Requires: there is a session.
InternedWork InternWork(std::span<const std::byte> definition,
                        std::span<const std::byte> context) noexcept;

// The definition that has this identifier, for as long as the process lives; empty when none has.
// Looks at every definition. Requires: there is a session.
std::span<const std::byte> FindWork(std::uint32_t id) noexcept;

}  // namespace eidolon::shim::core
