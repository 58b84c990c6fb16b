// Interning of a definition that brings its replay context (services/ring/replay.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace eidolon::shim::core {

// As Session::InternWork, of the one session. `context` goes with a new definition; it is left out
// when both are too large for a record. Requires: there is a session.
std::uint32_t InternWork(std::span<const std::byte> definition,
                         std::span<const std::byte> context) noexcept;

}  // namespace eidolon::shim::core
