// Two ranks' objects are often equal but for their rank, in a number or within a text ("rank_3").
// Unpickling would run the program's code, so the pickles are compared token by token instead.
// Equal tokens are copied, integers and numbers in texts continue on the line through the two
// values, and any other difference means that no rule is known. Frames are left out, because their
// lengths would change with the numbers.
#include "services/contract/folding/pickles.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

namespace eidolon::folding {
namespace {

// The names are those of Python's pickletools.
enum Opcode : std::uint8_t {
  kProto = 0x80,
  kStop = '.',
  kFrame = 0x95,
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kBinInt = 'J',
  kLong1 = 0x8a,
  kGlobal = 'c',
  kShortText = 0x8c,
  kText = 'X',
};
constexpr std::string_view kWithoutArgument = "(012NQRabd}el]ost)u";
constexpr std::string_view kOneByte = "Khq\x80\x82";
constexpr std::string_view kTwoBytes = "M\x83";
constexpr std::string_view kFourBytes = "Jjr\x84";
constexpr std::string_view kEightBytes = "G\x95";
constexpr std::string_view kShortCounted = "UC\x8a\x8c";
constexpr std::string_view kCounted = "TBX\x8b";
constexpr std::string_view kLongCounted = "\x8d\x8e\x96";

struct Token {
  std::uint8_t opcode = 0;
  std::string_view argument;  // Without its length.
  std::string_view whole;
};

// NEWOBJ, tuples, booleans, sets, STACK_GLOBAL, MEMOIZE, buffers.
bool IsNewerWithoutArgument(std::uint8_t opcode) {
  return opcode == 0x81 || (opcode >= 0x85 && opcode <= 0x89) ||
         (opcode >= 0x8f && opcode <= 0x94) || opcode == 0x97 || opcode == 0x98;
}

class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  // Reads all tokens, without frames, up to the stop. Nothing: this is not a pickle.
  std::optional<std::vector<Token>> All() {
    std::vector<Token> tokens;
    while (!rest_.empty()) {
      const std::string_view from = rest_;
      Token token{.opcode = static_cast<std::uint8_t>(from[0]), .argument = {}, .whole = {}};
      rest_.remove_prefix(1);
      if (tokens.empty() && token.opcode != kProto) return std::nullopt;
      const auto argument = ArgumentOf(token.opcode);
      if (!argument) return std::nullopt;
      token.argument = *argument;
      token.whole = from.substr(0, from.size() - rest_.size());
      if (token.opcode != kFrame) tokens.push_back(token);
      if (token.opcode == kStop) return tokens;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string_view> ArgumentOf(std::uint8_t opcode) {
    const auto is_of = [opcode](std::string_view some) {
      return some.find(static_cast<char>(opcode)) != some.npos;
    };
    if (opcode == kStop || is_of(kWithoutArgument) || IsNewerWithoutArgument(opcode)) {
      return std::string_view();
    }
    if (is_of(kOneByte)) return Take(1);
    if (is_of(kTwoBytes)) return Take(2);
    if (is_of(kFourBytes)) return Take(4);
    if (is_of(kEightBytes)) return Take(8);
    if (is_of(kShortCounted)) return TakeCounted(1);
    if (is_of(kCounted)) return TakeCounted(4);
    if (is_of(kLongCounted)) return TakeCounted(8);
    return opcode == kGlobal ? TakeLines(2) : std::nullopt;
  }

  std::optional<std::string_view> Take(std::uint64_t bytes) {
    if (bytes > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::optional<std::string_view> TakeCounted(std::size_t width) {
    const auto count = Take(width);
    if (!count) return std::nullopt;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, count->data(), width);
    return Take(bytes);
  }

  std::optional<std::string_view> TakeLines(int lines) {
    std::size_t end = 0;
    for (int line = 0; line < lines; ++line) {
      end = rest_.find('\n', end);
      if (end == rest_.npos) return std::nullopt;
      ++end;
    }
    return Take(end);
  }

  std::string_view rest_;
};

// Returns the integer of a token that is one of at most 64 bits.
std::optional<std::int64_t> IntegerOf(const Token& token) {
  const std::size_t bytes = token.argument.size();
  const bool is_signed = token.opcode == kBinInt || token.opcode == kLong1;
  const bool is_integer = is_signed || token.opcode == kBinInt1 || token.opcode == kBinInt2;
  if (!is_integer || bytes > sizeof(std::int64_t)) return std::nullopt;
  const bool is_negative = is_signed && bytes > 0 && (token.argument.back() & 0x80) != 0;
  std::int64_t value = is_negative ? -1 : 0;
  std::memcpy(&value, token.argument.data(), bytes);
  return value;
}

// The fewest bytes that hold the integer and its sign.
std::size_t WidthOf(std::int64_t value) {
  std::size_t bytes = sizeof(value);
  while (bytes > 1) {
    const std::int64_t rest = value >> (8 * (bytes - 1) - 1);
    if (rest != 0 && rest != -1) break;
    --bytes;
  }
  return bytes;
}

// Appends the integer as Python's pickler writes it.
void AppendInteger(std::int64_t value, std::string* out) {
  const auto append = [&](std::uint8_t opcode, std::size_t bytes) {
    out->push_back(static_cast<char>(opcode));
    if (opcode == kLong1) out->push_back(static_cast<char>(bytes));
    out->append(reinterpret_cast<const char*>(&value), bytes);
  };
  if (value >= 0 && value <= 0xff) return append(kBinInt1, 1);
  if (value >= 0 && value <= 0xffff) return append(kBinInt2, 2);
  if (value >= INT32_MIN && value <= INT32_MAX) return append(kBinInt, 4);
  append(kLong1, WidthOf(value));
}

struct Places {
  std::int32_t a = 0, b = 0, rank = 0;
};

// A number at the front, of at most 18 digits and without zeros in front of it.
std::optional<std::int64_t> TakeNumber(std::string_view* text) {
  const std::size_t digits = std::min(text->find_first_not_of("0123456789"), text->size());
  if (digits == 0 || digits > 18 || (digits > 1 && text->front() == '0')) return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(text->data(), text->data() + digits, number);
  text->remove_prefix(digits);
  return number;
}

std::optional<std::string> GoOnInText(std::string_view a, std::string_view b,
                                      const Places& places) {
  std::string text;
  while (!a.empty() && !b.empty()) {
    const auto of_a = TakeNumber(&a);
    if (!of_a.has_value()) {
      if (a[0] != b[0]) return std::nullopt;
      text.push_back(a[0]);
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const auto of_b = TakeNumber(&b);
    if (!of_b.has_value()) return std::nullopt;
    const auto value = OnLine(*of_a, *of_b, places.a, places.b, places.rank);
    if (!value || *value < 0) return std::nullopt;
    text += std::to_string(*value);
  }
  if (!a.empty() || !b.empty()) return std::nullopt;
  return text;
}

void AppendText(const std::string& text, std::string* out) {
  const bool is_short = text.size() <= 0xff;
  const auto bytes = static_cast<std::uint32_t>(text.size());
  out->push_back(static_cast<char>(is_short ? kShortText : kText));
  out->append(reinterpret_cast<const char*>(&bytes), is_short ? 1 : sizeof(bytes));
  out->append(text);
}

// False: the two follow no rule.
bool AppendToken(const Token& a, const Token& b, const Places& places, std::string* out) {
  if (a.whole == b.whole) {
    out->append(a.whole);
    return true;
  }
  const auto of_a = IntegerOf(a), of_b = IntegerOf(b);
  if (of_a.has_value() && of_b.has_value()) {
    const auto value = OnLine(*of_a, *of_b, places.a, places.b, places.rank);
    if (value.has_value()) AppendInteger(*value, out);
    return value.has_value();
  }
  const auto is_text = [](const Token& token) {
    return token.opcode == kShortText || token.opcode == kText;
  };
  if (!is_text(a) || !is_text(b)) return false;
  const auto text = GoOnInText(a.argument, b.argument, places);
  if (text.has_value()) AppendText(*text, out);
  return text.has_value();
}

}  // namespace

std::optional<std::string> GoOnInPickle(const LiveValue& a, const LiveValue& b, std::int32_t rank) {
  const auto of_a = Reader(a.bytes).All(), of_b = Reader(b.bytes).All();
  if (!of_a || !of_b || of_a->size() != of_b->size()) return std::nullopt;
  const Places places{.a = a.rank, .b = b.rank, .rank = rank};
  std::string pickle;
  for (std::size_t i = 0; i < of_a->size(); ++i) {
    if (!AppendToken((*of_a)[i], (*of_b)[i], places, &pickle)) return std::nullopt;
  }
  return pickle;
}

}  // namespace eidolon::folding
