// Small text tools of messages and parsers: joining, exact number parsing, nearest-name
// suggestions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace eidolon::base {

// The arguments printed one after another.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// The whole text as a decimal integer; nothing for anything else (spaces, signs on unsigned,
// overflow).
std::optional<std::int64_t> ParseInteger(std::string_view text);
// The whole text as a finite decimal number; nothing for anything else.
std::optional<double> ParseNumber(std::string_view text);

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(std::span<const std::string> parts, std::string_view separator);

// The candidate that `word` most likely means (edit distance at most a third of its length, at
// least one), or nothing. For "did you mean" in messages.
std::optional<std::string> NearestName(std::string_view word,
                                       std::span<const std::string> candidates);

}  // namespace eidolon::base
