// Tokens of an expression.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::search {

struct Token {
  enum class Kind { kNumber, kText, kWord, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;          // As written; of a kText without its quotes.
  std::size_t position = 0;  // Of its first character, counted from 1.

  bool Is(std::string_view written) const {
    return (kind == Kind::kWord || kind == Kind::kSymbol) && text == written;
  }
};

// The tokens, with one of kind kEnd at the end.
base::Result<std::vector<Token>> Tokenize(std::string_view text);

// Names a token and its place, "'%' at character 7".
std::string Describe(const Token& token);

}  // namespace eidolon::controller::search
