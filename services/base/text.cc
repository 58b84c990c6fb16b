// Nothing here depends on the locale, which is why neither streams nor the C library's functions
// are used: the shim runs this code within host programs, which may have set a locale that writes
// and expects a decimal comma. from_chars accepts a leading part of a text, so every parser also
// checks that nothing is left. A suggestion counts an exchange of two neighbouring characters as
// one edit, because that is how names are mistyped; three rows of the table are enough for it.
#include "services/base/text.h"

#define FMT_HEADER_ONLY  // Nothing to link: the shim lives in processes that may hold another fmt.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>

namespace eidolon::base {
namespace {

// Insertions, deletions, substitutions and exchanges of neighbours ("optimal string alignment").
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above(b.size() + 1), second(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::swap(second, above);
    std::swap(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = above[j] + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({substituted, row[j] + 1, above[j + 1] + 1});
      const bool exchanged = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (exchanged) row[j + 1] = std::min(row[j + 1], second[j - 1] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

void AppendText(std::string* out, std::int64_t number) {
  fmt::format_to(std::back_inserter(*out), "{}", number);
}

void AppendText(std::string* out, std::uint64_t number) {
  fmt::format_to(std::back_inserter(*out), "{}", number);
}

void AppendText(std::string* out, double number) {
  fmt::format_to(std::back_inserter(*out), "{:g}", number);
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != parts.data()) joined += separator;
    joined += part;
  }
  return joined;
}

std::optional<std::string> NearestName(std::string_view word,
                                       std::span<const std::string> candidates) {
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::string> nearest;
  std::size_t best = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace eidolon::base
