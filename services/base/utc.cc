#include "services/base/utc.h"

#include <ctime>

namespace eidolon::base {

std::string FormatUtc(std::int64_t unix_ns) {
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::optional<std::int64_t> ParseUtc(const std::string& text) {
  std::tm utc{};
  const char* const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const std::int64_t unix_ns = std::int64_t{timegm(&utc)} * 1'000'000'000;
  // The parser takes shorter numbers as well.
  return FormatUtc(unix_ns) == text ? std::optional(unix_ns) : std::nullopt;
}

}  // namespace eidolon::base
