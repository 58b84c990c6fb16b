// Splits PTX text into words, numbers and punctuation; comments and white space vanish.
#pragma once

#include <cstddef>
#include <string_view>

namespace eidolon::cubin {

// Views into the text. An empty token is the end.
class PtxTokens {
 public:
  explicit PtxTokens(std::string_view text) : text_(text) { Advance(); }

  std::string_view current() const { return token_; }
  bool at_end() const { return token_.empty(); }
  int line() const { return line_; }

  // Returns the current token and moves on.
  std::string_view Take() {
    const std::string_view token = token_;
    Advance();
    return token;
  }
  // Moves on if the current token is `expected`.
  bool TakeIf(std::string_view expected) {
    if (token_ != expected) return false;
    Advance();
    return true;
  }

 private:
  void Advance();
  void SkipBlanks();

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::string_view token_;
};

}  // namespace eidolon::cubin
