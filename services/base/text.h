// Small text tools of messages and parsers: joining, exact number parsing, nearest-name
// suggestions.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace eidolon::base {

// Appends one argument of StrCat. Numbers are formatted by the fmt library.
void AppendText(std::string* out, std::int64_t number);
void AppendText(std::string* out, std::uint64_t number);
// Appends up to six significant digits.
void AppendText(std::string* out, double number);

template <typename Part>
void AppendPart(std::string* out, const Part& part) {
  if constexpr (std::is_same_v<Part, char>) {
    out->push_back(part);
  } else if constexpr (std::convertible_to<const Part&, std::string_view>) {
    out->append(std::string_view(part));
  } else if constexpr (std::is_floating_point_v<Part>) {
    AppendText(out, static_cast<double>(part));
  } else if constexpr (std::is_signed_v<Part>) {
    AppendText(out, static_cast<std::int64_t>(part));
  } else {
    static_assert(std::convertible_to<const Part&, std::uint64_t>, "write it as text first");
    AppendText(out, static_cast<std::uint64_t>(part));
  }
}

// The arguments one after another: texts, characters and numbers; a bool is 0 or 1.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::string out;
  (AppendPart(&out, parts), ...);
  return out;
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
