// Moments as text, for people and for Kubernetes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace eidolon::base {

// RFC 3339 in UTC, whole seconds: 2026-11-21T09:53:36Z. `unix_ns`: nanoseconds since 1970.
std::string FormatUtc(std::int64_t unix_ns);
// Reads that back, to the second; nothing for any other text.
std::optional<std::int64_t> ParseUtc(const std::string& text);

}  // namespace eidolon::base
