// A recursive descent parser that makes a flat list of nodes, and an evaluation over it. Both are
// bounded: the text by its length, nesting by its depth, whole numbers by checks of overflow. So a
// text of a stranger costs little, and the same expression gives the same value on every machine.
#include "services/controller/search/expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "services/base/text.h"
#include "services/controller/search/expression_token.h"

namespace eidolon::controller::search {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using Operation = Expression::Operation;
using Node = Expression::Node;

constexpr std::array<std::string_view, 5> kWords = {"and", "or", "not", "true", "false"};

struct Symbol {
  std::string_view text;
  Operation operation;
};
constexpr std::array<Symbol, 1> kOrs = {{{"or", Operation::kOr}}};
constexpr std::array<Symbol, 1> kAnds = {{{"and", Operation::kAnd}}};
constexpr std::array<Symbol, 6> kComparisons = {{{"==", Operation::kEqual},
                                                 {"!=", Operation::kNotEqual},
                                                 {"<", Operation::kLess},
                                                 {"<=", Operation::kLessOrEqual},
                                                 {">", Operation::kGreater},
                                                 {">=", Operation::kGreaterOrEqual}}};
constexpr std::array<Symbol, 2> kSums = {{{"+", Operation::kAdd}, {"-", Operation::kSubtract}}};
constexpr std::array<Symbol, 3> kFactors = {
    {{"*", Operation::kMultiply}, {"/", Operation::kDivide}, {"%", Operation::kRemainder}}};

// Parses one list of tokens. Each function returns the index of the node that it has made.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<std::vector<Node>> Parse() {
    const auto whole = ParseOr();
    if (!whole) return std::unexpected(whole.error());
    if (Current().kind != Token::Kind::kEnd) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat(search::Describe(Current()),
                         " cannot follow what stands before it: an operator is missing"));
    }
    return std::move(nodes_);
  }

 private:
  using Parsed = Result<std::size_t>;

  const Token& Current() const { return tokens_[at_]; }
  std::size_t Add(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  template <std::size_t kCount>
  std::optional<Operation> Take(const std::array<Symbol, kCount>& symbols) {
    for (const Symbol& symbol : symbols) {
      if (!Current().Is(symbol.text)) continue;
      ++at_;
      return symbol.operation;
    }
    return std::nullopt;
  }

  // Operands of `parse` with operators of `symbols` between them, grouped to the left.
  template <std::size_t kCount>
  Parsed ParseChain(const std::array<Symbol, kCount>& symbols, Parsed (Parser::*parse)()) {
    Parsed left = (this->*parse)();
    while (left) {
      const auto operation = Take(symbols);
      if (!operation) break;
      const Parsed right = (this->*parse)();
      if (!right) return right;
      left =
          Add({.operation = *operation, .left = *left, .right = *right, .value = {}, .name = ""});
    }
    return left;
  }

  Parsed ParseOr() { return ParseChain(kOrs, &Parser::ParseAnd); }
  Parsed ParseAnd() { return ParseChain(kAnds, &Parser::ParseNot); }
  Parsed ParseNot() {
    return ParsePrefix("not", Operation::kNot, &Parser::ParseNot, &Parser::ParseComparison);
  }

  Parsed ParseComparison() {
    const Parsed left = ParseSum();
    if (!left) return left;
    const auto operation = Take(kComparisons);
    if (!operation) return left;
    const Parsed right = ParseSum();
    if (!right) return right;
    const Token& next = Current();
    const bool is_chain = std::ranges::any_of(
        kComparisons, [&](const Symbol& symbol) { return next.Is(symbol.text); });
    if (is_chain) {
      return Fail(
          ErrorCode::kInvalidArgument,
          StrCat(search::Describe(next), " makes a chain of comparisons: write 'a < b and b < c'"));
    }
    return Add({.operation = *operation, .left = *left, .right = *right, .value = {}, .name = ""});
  }

  Parsed ParseSum() { return ParseChain(kSums, &Parser::ParseFactors); }
  Parsed ParseFactors() { return ParseChain(kFactors, &Parser::ParseSign); }
  Parsed ParseSign() {
    return ParsePrefix("-", Operation::kNegate, &Parser::ParseSign, &Parser::ParseOperand);
  }

  Parsed ParsePrefix(std::string_view prefix, Operation operation, Parsed (Parser::*again)(),
                     Parsed (Parser::*otherwise)()) {
    if (!Current().Is(prefix)) return (this->*otherwise)();
    const auto deeper = Enter();
    if (!deeper) return std::unexpected(deeper.error());
    ++at_;
    const Parsed operand = (this->*again)();
    --depth_;
    if (!operand) return operand;
    return Add({.operation = operation, .left = *operand, .right = 0, .value = {}, .name = ""});
  }

  Parsed ParseOperand() {
    const Token token = Current();
    if (token.Is("(")) return ParseParentheses();
    ++at_;
    if (token.kind == Token::Kind::kNumber) return AddNumber(token);
    if (token.kind == Token::Kind::kText) return AddValue(token.text);
    if (token.Is("true") || token.Is("false")) return AddValue(token.text == "true");
    if (token.kind == Token::Kind::kWord && IsExpressionName(token.text)) {
      return Add(
          {.operation = Operation::kName, .left = 0, .right = 0, .value = {}, .name = token.text});
    }
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(search::Describe(token),
                       " stands where a number, a name, a 'text' or '(' is needed"));
  }

  Parsed ParseParentheses() {
    const auto deeper = Enter();
    if (!deeper) return std::unexpected(deeper.error());
    const Token opening = tokens_[at_++];
    const Parsed inner = ParseOr();
    --depth_;
    if (!inner) return inner;
    if (Current().Is(")")) {
      ++at_;
      return inner;
    }
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(search::Describe(Current()), " stands where ')' is needed: ",
                       search::Describe(opening), " is still open"));
  }

  Result<void> Enter() {
    if (++depth_ <= kExpressionDepthMax) return {};
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(search::Describe(Current()), " is nested deeper than ", kExpressionDepthMax,
                       " levels: split the expression into several"));
  }

  Parsed AddValue(Value value) {
    return Add({.operation = Operation::kValue,
                .left = 0,
                .right = 0,
                .value = std::move(value),
                .name = ""});
  }
  Parsed AddNumber(const Token& token) {
    if (const auto whole = base::ParseInteger(token.text)) return AddValue(*whole);
    if (const auto number = base::ParseNumber(token.text)) return AddValue(*number);
    return Fail(
        ErrorCode::kInvalidArgument,
        StrCat(search::Describe(token), " is not a number that fits: write 12, 0.05 or 1e9"));
  }

  std::vector<Token> tokens_;
  std::vector<Node> nodes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string_view NameOf(Operation operation) {
  const auto find = [operation](const auto& symbols) -> std::string_view {
    for (const Symbol& symbol : symbols) {
      if (symbol.operation == operation) return symbol.text;
    }
    return "";
  };
  for (const std::string_view text :
       {find(kOrs), find(kAnds), find(kComparisons), find(kSums), find(kFactors)}) {
    if (!text.empty()) return text;
  }
  return operation == Operation::kNot ? "not" : "-";
}

bool IsNumber(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

double AsDouble(const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

std::unexpected<base::Error> Refuse(Operation operation, const Value& left, const Value& right,
                                    std::string_view why) {
  return Fail(ErrorCode::kInvalidArgument,
              StrCat(TextOfValue(left), " ", NameOf(operation), " ", TextOfValue(right), " ", why));
}

Result<Value> CalculateWhole(Operation operation, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (operation) {
    case Operation::kAdd:
      overflows = __builtin_add_overflow(left, right, &result);
      break;
    case Operation::kSubtract:
      overflows = __builtin_sub_overflow(left, right, &result);
      break;
    case Operation::kMultiply:
      overflows = __builtin_mul_overflow(left, right, &result);
      break;
    case Operation::kRemainder:
      if (right == 0) return Refuse(operation, left, right, "divides by zero");
      // -1 divides every number, and the least one cannot be divided by it.
      result = right == -1 ? 0 : left % right;
      if (result != 0 && (result < 0) != (right < 0)) result += right;
      break;
    default:
      if (right == 0) return Refuse(operation, left, right, "divides by zero");
      if (right == -1) {
        overflows = __builtin_sub_overflow(std::int64_t{0}, left, &result);
      } else if (left % right == 0) {
        result = left / right;
      } else {
        return static_cast<double>(left) / static_cast<double>(right);
      }
  }
  if (overflows) return Refuse(operation, left, right, "is too large for a whole number");
  return result;
}

Result<Value> Calculate(Operation operation, const Value& left, const Value& right) {
  if (!IsNumber(left) || !IsNumber(right)) {
    return Refuse(operation, left, right, "needs numbers on both sides");
  }
  const auto* whole_left = std::get_if<std::int64_t>(&left);
  const auto* whole_right = std::get_if<std::int64_t>(&right);
  if (whole_left != nullptr && whole_right != nullptr) {
    return CalculateWhole(operation, *whole_left, *whole_right);
  }
  if (operation == Operation::kRemainder) {
    return Refuse(operation, left, right, "needs whole numbers on both sides");
  }
  const double a = AsDouble(left);
  const double b = AsDouble(right);
  if (operation == Operation::kDivide && b == 0) {
    return Refuse(operation, left, right, "divides by zero");
  }
  const double result = operation == Operation::kAdd        ? a + b
                        : operation == Operation::kSubtract ? a - b
                        : operation == Operation::kMultiply ? a * b
                                                            : a / b;
  if (!std::isfinite(result)) return Refuse(operation, left, right, "is too large for a number");
  return result;
}

template <typename Type>
bool Compares(Operation operation, const Type& left, const Type& right) {
  switch (operation) {
    case Operation::kEqual:
      return left == right;
    case Operation::kNotEqual:
      return left != right;
    case Operation::kLess:
      return left < right;
    case Operation::kLessOrEqual:
      return left <= right;
    case Operation::kGreater:
      return left > right;
    default:
      return left >= right;
  }
}

Result<Value> Compare(Operation operation, const Value& left, const Value& right) {
  const auto* whole_left = std::get_if<std::int64_t>(&left);
  const auto* whole_right = std::get_if<std::int64_t>(&right);
  if (whole_left != nullptr && whole_right != nullptr) {
    return Compares(operation, *whole_left, *whole_right);
  }
  if (IsNumber(left) && IsNumber(right)) {
    return Compares(operation, AsDouble(left), AsDouble(right));
  }
  if (left.index() != right.index()) {
    return Refuse(operation, left, right, "compares two kinds of values, which are never alike");
  }
  if (operation != Operation::kEqual && operation != Operation::kNotEqual) {
    return Refuse(operation, left, right, "has no order: texts and truths have == and != only");
  }
  return Compares(operation, left, right);
}

// Evaluates the nodes of one expression. Recursion is as deep as the text is long at most.
class Evaluator {
 public:
  Evaluator(const std::vector<Node>& nodes, const Bindings& bindings)
      : nodes_(nodes), bindings_(bindings) {}

  Result<Value> At(std::size_t index) const {
    const Node& node = nodes_[index];
    switch (node.operation) {
      case Operation::kValue:
        return node.value;
      case Operation::kName:
        return ValueOf(node.name);
      case Operation::kNot: {
        const auto truth = TruthAt(node.left, node.operation);
        if (!truth) return std::unexpected(truth.error());
        return !*truth;
      }
      case Operation::kOr:
      case Operation::kAnd: {
        const auto left = TruthAt(node.left, node.operation);
        if (!left) return std::unexpected(left.error());
        if (*left == (node.operation == Operation::kOr)) return *left;
        const auto right = TruthAt(node.right, node.operation);
        if (!right) return std::unexpected(right.error());
        return *right;
      }
      case Operation::kNegate: {
        const auto operand = At(node.left);
        if (!operand) return operand;
        return Calculate(Operation::kSubtract, std::int64_t{0}, *operand);
      }
      default:
        return Combine(node);
    }
  }

 private:
  Result<Value> Combine(const Node& node) const {
    const auto left = At(node.left);
    if (!left) return left;
    const auto right = At(node.right);
    if (!right) return right;
    return node.operation < Operation::kAdd ? Compare(node.operation, *left, *right)
                                            : Calculate(node.operation, *left, *right);
  }

  Result<bool> TruthAt(std::size_t index, Operation operation) const {
    const auto value = At(index);
    if (!value) return std::unexpected(value.error());
    if (const auto* truth = std::get_if<bool>(&*value)) return *truth;
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("'", NameOf(operation), "' needs true or false, not ", TextOfValue(*value),
                       ": compare it, as in 'tp > 1'"));
  }

  Result<Value> ValueOf(const std::string& name) const {
    const auto found = bindings_.find(name);
    if (found != bindings_.end()) return found->second;
    return Fail(ErrorCode::kNotFound, StrCat("'", name, "' has no value here"));
  }

  const std::vector<Node>& nodes_;
  const Bindings& bindings_;
};

}  // namespace

std::string TextOfValue(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return StrCat("'", *text, "'");
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return StrCat(*whole);
  return StrCat(std::get<double>(value));
}

bool IsExpressionName(std::string_view text) {
  const auto is_alphabetic = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && is_alphabetic(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_alphabetic(c) || is_digit(c); }) &&
         std::ranges::find(kWords, text) == kWords.end();
}

Expression::Expression(std::string text, std::vector<Node> nodes)
    : text_(std::move(text)), nodes_(std::move(nodes)) {
  std::set<std::string> names;
  for (const Node& node : nodes_) {
    if (node.operation == Operation::kName) names.insert(node.name);
  }
  names_.assign(names.begin(), names.end());
}

Result<Expression> Expression::Parse(std::string_view text) {
  if (text.size() > kExpressionBytesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("has ", text.size(), " characters, and may have ", kExpressionBytesMax,
                       ": split it into several"));
  }
  auto tokens = Tokenize(text);
  if (!tokens) return std::unexpected(tokens.error());
  auto nodes = Parser(std::move(*tokens)).Parse();
  if (!nodes) return std::unexpected(nodes.error());
  return Expression(std::string(text), std::move(*nodes));
}

Result<Value> Expression::Evaluate(const Bindings& bindings) const {
  return Evaluator(nodes_, bindings).At(nodes_.size() - 1);
}

Result<bool> Expression::Holds(const Bindings& bindings) const {
  const auto value = Evaluate(bindings);
  if (!value) return std::unexpected(value.error());
  if (const auto* truth = std::get_if<bool>(&*value)) return *truth;
  return Fail(ErrorCode::kInvalidArgument, StrCat("is ", TextOfValue(*value),
                                                  ", where true or false is needed: compare it, as "
                                                  "in 'world % tp == 0'"));
}

}  // namespace eidolon::controller::search
