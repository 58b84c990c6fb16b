// Byte quantities as Kubernetes writes them: 16Gi, 500M, 1024.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace eidolon::controller::job {

// The number of bytes; nothing for anything that is no such quantity or above 2^63 - 1. Suffixes:
// Ki Mi Gi Ti (powers of 1024), k M G T (powers of 1000); the number may have a decimal point.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace eidolon::controller::job
