// Text of jobs for a terminal. What a program prints, or what a message quotes of it, may hold
// escape sequences that a terminal obeys (ECMA-48): they are shown instead.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::controller::shown {

// This class is not thread-safe. A character may come in two parts.
class Printable {
 public:
  // The text with control characters as "\x1b", and those that turn the direction of text
  // (Unicode's bidirectional formatting) as "\u202e"; line ends and tabs stay. Bytes that are not
  // UTF-8 become "\xff". The beginning of a character waits for its rest.
  std::string Add(std::string_view text);
  // Returns what still waits, since nothing follows.
  std::string Finish();

 private:
  std::string rest_;
};

// Converts a whole text.
std::string ToPrintable(std::string_view text);
// The same for a place that has one line: line ends and tabs become "\x0a" and "\x09".
std::string ToPrintableLine(std::string_view text);

// Text with which the message of a condition begins to quote a program's output, a line below each
// other.
inline constexpr std::string_view kQuotedOutput = "; last lines of its error output:";
// The same for the message of a condition: the lines that it quotes follow it, each behind a bar,
// so that none looks like one of ours.
std::string ToPrintableMessage(std::string_view message);

}  // namespace eidolon::controller::shown
