// Lines of the program, for its timeline. The shim tells them only while the agent wants them
// (Cursors::wants_timeline), by kPythonLine records. A record with a text gives a number a line;
// one without says that the calls and waits that follow were made there, until the next such
// record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace eidolon::ring {

// Lines of one process that are told; calls made at further ones have none.
inline constexpr std::uint32_t kMostPythonLines = 16'384;
// The number where there is none: the thread runs no Python.
inline constexpr std::uint32_t kNoPythonLine = 0;
inline constexpr std::size_t kPythonLineBytesMax = 240;

// Returns the line as it may be shown, whatever was written: bytes that are not printable ASCII
// become question marks.
inline std::string ShownPythonLine(std::string_view text) {
  std::string line(text.substr(0, kPythonLineBytesMax));
  for (char& c : line) {
    if (c < ' ' || c > '~') c = '?';
  }
  return line;
}

}  // namespace eidolon::ring
