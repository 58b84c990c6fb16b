// Text of programs as protocol strings take it: whatever a job prints may become part of a report.
#pragma once

#include <string>

namespace eidolon::agent::outcome {

// The text with each byte that is not part of a UTF-8 character written as "\xff".
std::string PlainText(const std::string& text);

}  // namespace eidolon::agent::outcome
