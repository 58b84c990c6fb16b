#include "services/machine_code/cubin/ptx_tokens.h"

#include <algorithm>

namespace eidolon::cubin {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Directives keep their dot and registers their per cent sign: both are part of a PTX name.
bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

}  // namespace

void PtxTokens::SkipBlanks() {
  while (at_ < text_.size()) {
    const std::string_view rest = text_.substr(at_);
    std::size_t skipped = 0;
    if (IsBlank(rest[0])) {
      skipped = 1;
    } else if (rest.starts_with("//")) {
      skipped = std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      skipped = end == std::string_view::npos ? rest.size() : end + 2;
    } else {
      return;
    }
    line_ += static_cast<int>(std::ranges::count(rest.substr(0, skipped), '\n'));
    at_ += skipped;
  }
}

void PtxTokens::Advance() {
  SkipBlanks();
  // The driver's text ends at a NUL.
  if (at_ >= text_.size() || text_[at_] == '\0') {
    token_ = {};
    at_ = text_.size();
    return;
  }
  std::size_t end = at_ + 1;
  if (text_[at_] == '"') {
    const std::size_t close = text_.find('"', end);
    end = close == std::string_view::npos ? text_.size() : close + 1;
  } else if (IsWord(text_[at_])) {
    while (end < text_.size() && IsWord(text_[end])) ++end;
  }
  token_ = text_.substr(at_, end - at_);
  at_ = end;
}

}  // namespace eidolon::cubin
