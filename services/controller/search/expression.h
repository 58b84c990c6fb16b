// Expressions of a search: "world % (tp * pp) == 0". A document's constraints are such texts, over
// the names of its parameters. Pure and total: a text either is an expression or has an error that
// names the token and what to write instead, and evaluating one ends with a value or an error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::search {

using Value = std::variant<std::int64_t, double, bool, std::string>;
// Values of names.
using Bindings = std::map<std::string, Value, std::less<>>;

// "'full'", "12", "true": how a value is written in an expression.
std::string TextOfValue(const Value& value);

inline constexpr std::size_t kExpressionBytesMax = 1000;
inline constexpr int kExpressionDepthMax = 50;  // Of parentheses, 'not' and signs.

// Copies are cheap enough for documents. Immutable once parsed.
class Expression {
 public:
  enum class Operation {
    kValue,
    kName,
    kNot,
    kNegate,
    kOr,
    kAnd,
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRemainder,
  };
  // Operands come before the operation, so that the last node is the whole expression.
  struct Node {
    Operation operation = Operation::kValue;
    std::size_t left = 0;  // Index of the first operand, or of the only one.
    std::size_t right = 0;
    Value value;
    std::string name;
  };

  // Grammar, from what binds least to what binds most; operators of one line group to the left:
  //   or | and | not | == != < <= > >= (one, not a chain) | + - | * / % | - | ( )
  // An operand is a whole number, a decimal number, a 'text', true, false, or a name.
  static base::Result<Expression> Parse(std::string_view text);

  // 7 / 2 is 3.5 and 8 / 2 the whole number 4; % takes whole numbers and has the sign of its right
  // side. The right side of 'and' and 'or' counts only if the left one does not decide.
  base::Result<Value> Evaluate(const Bindings& bindings) const;
  // The same for an expression that must be true or false.
  base::Result<bool> Holds(const Bindings& bindings) const;

  const std::string& text() const { return text_; }
  // The names in it, each once, in the order of the alphabet.
  const std::vector<std::string>& names() const { return names_; }

 private:
  Expression(std::string text, std::vector<Node> nodes);

  std::string text_;
  std::vector<Node> nodes_;
  std::vector<std::string> names_;
};

// Returns whether a text can be a name in an expression: letters, digits and _, not a digit first,
// and none of its words (and, or, not, true, false).
bool IsExpressionName(std::string_view text);

}  // namespace eidolon::controller::search
