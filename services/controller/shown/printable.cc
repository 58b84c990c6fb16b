// Output of a job is untrusted: escape sequences can rewrite a terminal's screen or title, and
// bidirectional controls can make text look like other text (CVE-2021-42574). So every character is
// decoded and judged by its code point. C1 controls (0x80 to 0x9f) count as well, since some
// terminals obey them. Overlong forms, surrogates and values above 0x10ffff are not valid UTF-8
// (RFC 3629) and are shown byte by byte; after an invalid byte decoding goes on with the next one.
// The beginning of a character at the end of a part waits for its rest, as parts are cut anywhere.
#include "services/controller/shown/printable.h"

#include <cstdio>

#include "services/base/text.h"

namespace eidolon::controller::shown {
namespace {

// How many bytes a character has by its first one; 0: no character begins so.
std::size_t LengthOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

char32_t Decode(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t value = first & (0x7f >> character.size());
  for (const char byte : character.substr(1)) {
    value = value << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  }
  return value;
}

bool IsOverlong(char32_t value, std::size_t length) {
  return (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
}

bool IsSurrogateOrBeyond(char32_t value) {
  return (value >= 0xd800 && value < 0xe000) || value > 0x10ffff;
}

// Marks, embeddings, overrides and isolates: they make text look as it is not.
bool ChangesDirection(char32_t value) {
  return value == 0x061c || value == 0x200e || value == 0x200f ||
         (value >= 0x202a && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069);
}

bool IsControl(char32_t value) {
  if (value == '\n' || value == '\t') return false;
  return value < 0x20 || (value >= 0x7f && value < 0xa0) || value == 0x2028 || value == 0x2029;
}

std::string Show(char32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, value < 0x100 ? "\\x%02x" : "\\u%04x",
                static_cast<unsigned>(value));
  return text;
}

}  // namespace

std::string Printable::Add(std::string_view text) {
  const std::string joined = rest_ + std::string(text);
  rest_.clear();
  std::string shown;
  for (std::size_t at = 0; at < joined.size();) {
    const std::size_t length = LengthOf(static_cast<unsigned char>(joined[at]));
    std::size_t have = 1;
    while (have < length && at + have < joined.size() && IsContinuation(joined[at + have])) ++have;
    if (have < length && at + have == joined.size()) {
      rest_ = joined.substr(at);
      break;
    }
    const std::string_view character(joined.data() + at, have);
    const char32_t value = have == length ? Decode(character) : 0;
    if (length == 0 || have < length || IsOverlong(value, length) || IsSurrogateOrBeyond(value)) {
      shown += Show(static_cast<unsigned char>(joined[at]));
      ++at;
      continue;
    }
    if (IsControl(value) || ChangesDirection(value)) {
      shown += Show(value);
    } else {
      shown += character;
    }
    at += have;
  }
  return shown;
}

std::string Printable::Finish() {
  std::string shown;
  for (const char byte : rest_) shown += Show(static_cast<unsigned char>(byte));
  rest_.clear();
  return shown;
}

std::string ToPrintable(std::string_view text) {
  Printable printable;
  const std::string shown = printable.Add(text);
  return shown + printable.Finish();
}

std::string ToPrintableLine(std::string_view text) {
  std::string line;
  for (const char c : ToPrintable(text)) {
    line += c == '\n' || c == '\t' ? Show(static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return line;
}

std::string ToPrintableMessage(std::string_view message) {
  const std::size_t quoted = message.find(kQuotedOutput);
  if (quoted == message.npos) return ToPrintableLine(message);
  const std::size_t begin = quoted + kQuotedOutput.size();
  std::string shown = ToPrintableLine(message.substr(0, begin));
  bool is_first = true;
  for (const std::string_view line : base::Split(message.substr(begin), '\n')) {
    // The first one begins with a line end.
    if (!is_first || !line.empty()) shown += "\n    | " + ToPrintableLine(line);
    is_first = false;
  }
  return shown;
}

}  // namespace eidolon::controller::shown
