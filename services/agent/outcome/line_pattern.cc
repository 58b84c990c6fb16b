#include "services/agent/outcome/line_pattern.h"

#include <re2/re2.h>

#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::outcome {

base::Result<LinePattern> LinePattern::Compile(const std::string& pattern) {
  auto expression = std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet);
  if (!expression->ok()) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      base::StrCat("log pattern '", pattern, "': ", expression->error()));
  }
  return LinePattern(std::move(expression));
}

LinePattern::LinePattern(std::unique_ptr<re2::RE2> expression)
    : expression_(std::move(expression)) {}
LinePattern::LinePattern(LinePattern&&) noexcept = default;
LinePattern& LinePattern::operator=(LinePattern&&) noexcept = default;
LinePattern::~LinePattern() = default;

bool LinePattern::EndsIteration(const std::string& line) {
  // RE2::PartialMatch would not tell an unmatched group from an absent one.
  re2::StringPiece parts[2];
  const int wanted = expression_->NumberOfCapturingGroups() > 0 ? 2 : 1;
  if (!expression_->Match(line, 0, line.size(), re2::RE2::UNANCHORED, parts, wanted)) return false;
  if (wanted == 1) return true;
  const std::string value(parts[1].data() == nullptr ? "" : parts[1].as_string());
  if (value == last_value_) return false;
  last_value_ = value;
  return true;
}

}  // namespace eidolon::agent::outcome
