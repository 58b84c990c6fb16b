// What a kUnknownSource record says in its name: where host reads of unknown bytes come from. Four
// lines of text: writer, pointer, Python line, value given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace eidolon::ring {

// Of one process; reads of further ones are of no source.
inline constexpr std::size_t kMostUnknownSources = 256;
inline constexpr std::size_t kUnknownTextMax = 240;  // Of each line.

struct UnknownSource {
  std::string writer;         // A kernel's readable name, or what else made the bytes unknown.
  std::uint32_t pointer = 0;  // Which of the kernel's pointers leads to them.
  std::string line;           // "train.py:40"; empty: not to be had.
  std::string given;          // What the host read instead: "zero", "one", "float32 0.5".
};

inline std::string JoinUnknownSource(const UnknownSource& source) {
  return source.writer.substr(0, kUnknownTextMax) + "\n" + std::to_string(source.pointer) + "\n" +
         source.line.substr(0, kUnknownTextMax) + "\n" + source.given.substr(0, kUnknownTextMax);
}

// Any text is taken; what is missing is empty.
inline UnknownSource SplitUnknownSource(std::string_view text) {
  const auto next = [&text] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return std::string(line.substr(0, kUnknownTextMax));
  };
  UnknownSource source;
  source.writer = next();
  for (const char digit : next()) {
    if (digit < '0' || digit > '9' || source.pointer > 999) break;
    source.pointer = source.pointer * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  source.line = next();
  source.given = next();
  return source;
}

}  // namespace eidolon::ring
