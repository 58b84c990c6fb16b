// The pattern of a line that ends an iteration (iterations.boundary.log). Lines and patterns are
// the user's; matching takes time linear in the line and a bounded stack (RE2), whatever they hold.
#pragma once

#include <memory>
#include <string>

#include "services/base/error.h"

namespace re2 {
class RE2;
}

namespace eidolon::agent::outcome {

// This class is not thread-safe.
class LinePattern {
 public:
  // An error says what is wrong with the pattern.
  static base::Result<LinePattern> Compile(const std::string& pattern);
  LinePattern(LinePattern&&) noexcept;
  LinePattern& operator=(LinePattern&&) noexcept;
  ~LinePattern();

  // Returns whether the line ends an iteration. Several ranks may print the same one, so a pattern
  // with a group counts a line only when the (first) group's text has changed.
  bool EndsIteration(const std::string& line);

 private:
  explicit LinePattern(std::unique_ptr<re2::RE2> expression);
  std::unique_ptr<re2::RE2> expression_;
  std::string last_value_;
};

}  // namespace eidolon::agent::outcome
