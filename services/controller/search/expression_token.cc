#include "services/controller/search/expression_token.h"

#include <algorithm>
#include <array>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::search {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// Operators of other languages, and how they are written here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kForeign = {{
    {"&&", "write 'and'"},
    {"||", "write 'or'"},
    {"**", "there are no powers: multiply"},
    {"//", "write '/', which is exact, and '%' for the remainder"},
    {"=", "write '==' to compare"},
    {"!", "write 'not', or '!=' to compare"},
}};
constexpr std::array<std::string_view, 13> kSymbols = {"==", "!=", "<=", ">=", "<", ">", "+",
                                                       "-",  "*",  "/",  "%",  "(", ")"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlphabetic(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::size_t LengthWhile(std::string_view text, bool (*accepts)(char)) {
  const auto end = std::ranges::find_if_not(text, accepts);
  return static_cast<std::size_t>(end - text.begin());
}

// A character as it can stand in a message.
std::string Shown(char c) {
  const bool is_printable = c >= ' ' && c <= '~';
  return is_printable ? StrCat("'", c, "'") : StrCat("byte ", static_cast<unsigned char>(c));
}

base::Result<Token> NextToken(std::string_view rest, std::size_t position) {
  const auto token = [&](Token::Kind kind, std::string_view text) {
    return Token{.kind = kind, .text = std::string(text), .position = position};
  };
  if (IsDigit(rest.front()) || rest.front() == '.') {
    const auto accepts = [](char c) { return IsDigit(c) || IsAlphabetic(c) || c == '.'; };
    return token(Token::Kind::kNumber, rest.substr(0, LengthWhile(rest, accepts)));
  }
  if (IsAlphabetic(rest.front())) {
    const auto accepts = [](char c) { return IsDigit(c) || IsAlphabetic(c); };
    return token(Token::Kind::kWord, rest.substr(0, LengthWhile(rest, accepts)));
  }
  if (rest.front() == '\'' || rest.front() == '"') {
    const std::size_t end = rest.find(rest.front(), 1);
    if (end != rest.npos) return token(Token::Kind::kText, rest.substr(1, end - 1));
    return Fail(ErrorCode::kInvalidArgument, StrCat("the text that begins at character ", position,
                                                    " has no end: close it with ", rest.front()));
  }
  for (const auto& [symbol, advice] : kForeign) {
    if (!rest.starts_with(symbol) || rest.starts_with("==") || rest.starts_with("!=")) continue;
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("'", symbol, "' at character ", position, " is not known: ", advice));
  }
  for (const std::string_view symbol : kSymbols) {
    if (rest.starts_with(symbol)) return token(Token::Kind::kSymbol, symbol);
  }
  return Fail(ErrorCode::kInvalidArgument,
              StrCat(Shown(rest.front()), " at character ", position,
                     " is not known: write numbers, names, 'texts', + - * / %, comparisons, and, "
                     "or, not and parentheses"));
}

}  // namespace

std::string Describe(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end";
  return StrCat("'", token.text, "' at character ", token.position);
}

base::Result<std::vector<Token>> Tokenize(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n')) ++at;
    if (at == text.size()) break;
    auto token = NextToken(text.substr(at), at + 1);
    if (!token) return std::unexpected(token.error());
    at += token->text.size() + (token->kind == Token::Kind::kText ? 2 : 0);
    tokens.push_back(std::move(*token));
  }
  tokens.push_back({.kind = Token::Kind::kEnd, .text = "", .position = text.size() + 1});
  return tokens;
}

}  // namespace eidolon::controller::search
