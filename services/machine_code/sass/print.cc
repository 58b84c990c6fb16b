// The printer interprets the forms' texts, so that an operation needs a row and no code. Its output
// must be the disassembler's to the character: that is how rows are tested, against what nvdisasm
// prints for libraries' code, and how a field that was misunderstood is noticed. Text behind a
// condition is always interpreted and then taken back, because the condition's end is only found by
// doing so.
#include "services/machine_code/sass/print.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "services/base/small_float.h"
#include "services/machine_code/sass/form.h"
#include "services/machine_code/sass/modifier.h"
#include "services/machine_code/sass/print_special.h"

namespace eidolon::sass {
namespace {

constexpr unsigned kCarryBit = 74;

// Requires: the value is no NaN.
std::string Float(double value) {
  if (std::isinf(value)) return value < 0 ? "-INF" : "+INF";
  if (value == 0 && std::signbit(value)) return "-0.0";
  char text[64];
  constexpr double kLongestPlain = 1e9;
  std::snprintf(text, sizeof(text), std::abs(value) < kLongestPlain ? "%.20g" : "%.20e", value);
  return text;
}

double HalfValue(std::uint32_t bits, bool is_bfloat) {
  const auto low = static_cast<std::uint16_t>(bits);
  return static_cast<double>(is_bfloat ? base::BfloatToFloat(low) : base::HalfToFloat(low));
}

// `quiet`: the uppermost bit of the mantissa is set.
std::string NotANumber(bool negative, bool quiet) {
  return std::string(negative ? "-" : "+") + (quiet ? "QNAN" : "SNAN");
}

std::string Single(std::uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) return NotANumber(bits >> 31 != 0, (bits >> 22 & 1) != 0);
  return Float(static_cast<double>(std::bit_cast<float>(bits)));
}

std::string Double(std::uint32_t upper) {
  if ((upper & 0x7fffffff) > 0x7ff00000)
    return NotANumber(upper >> 31 != 0, (upper >> 19 & 1) != 0);
  return Float(std::bit_cast<double>(std::uint64_t{upper} << 32));
}

std::string Half(std::uint32_t bits, bool is_bfloat) {
  const std::uint32_t infinity = is_bfloat ? 0x7f80 : 0x7c00;
  if ((bits & 0x7fff) > infinity) {
    return NotANumber(bits >> 15 != 0, (bits >> (is_bfloat ? 6 : 9) & 1) != 0);
  }
  return Float(HalfValue(bits, is_bfloat));
}

std::string Register(std::uint64_t number) {
  return number == kZeroRegister ? "RZ" : "R" + std::to_string(number);
}

std::string Uniform(std::uint64_t number) {
  return number == kZeroUniform ? "URZ" : "UR" + std::to_string(number);
}

std::string Predicate(std::uint64_t number, bool uniform) {
  const std::string name = uniform ? "UP" : "P";
  return number == kTruePredicate ? name + "T" : name + std::to_string(number);
}

// Interprets one form's text.
class Printer {
 public:
  Printer(const Word& word, const Form& form, std::uint64_t address, Dialect dialect)
      : word_(word), form_(form), address_(address), dialect_(dialect) {}

  std::string Run() {
    Copy(form_.text, 0);
    return std::move(out_);
  }

 private:
  // Copies until the text's end or the bracket that closes it; returns where it stopped.
  std::size_t Copy(std::string_view text, std::size_t at) {
    while (at < text.size() && text[at] != ')') {
      const char c = text[at++];
      if (c == '{') {
        at = Modifier(text, at);
      } else if (c == '$') {
        at = Operand(text, at);
      } else if (c == '?') {
        at = Condition(text, at);
      } else {
        out_ += c;
      }
    }
    return at;
  }

  static std::uint32_t Number(std::string_view text, std::size_t& at) {
    std::uint32_t value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      value = value * 10 + static_cast<std::uint32_t>(text[at++] - '0');
    }
    return value;
  }

  // at[.width][+at.width]; a single field without a width is `width` bits.
  std::uint64_t Field(std::string_view text, std::size_t& at, unsigned width) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    while (true) {
      const std::uint32_t bit = Number(text, at);
      if (at < text.size() && text[at] == '.') width = Number(text, ++at);
      value |= word_.Bits(bit, width) << shift;
      shift += width;
      if (at >= text.size() || text[at] != '+') return value;
      ++at;
    }
  }

  std::size_t Modifier(std::string_view text, std::size_t at) {
    const std::size_t colon = text.find(':', at);
    const auto words = FindModifiers(text.substr(at, colon - at));
    at = colon + 1;
    const auto width = static_cast<unsigned>(std::bit_width(words.size() - 1));
    const std::uint64_t value = Field(text, at, width);
    out_ += value < words.size() ? words[value] : std::string_view(".INVALID");
    return at + 1;
  }

  std::size_t Condition(std::string_view text, std::size_t at) {
    bool wanted = true;
    if (text[at] == '!') {
      wanted = false;
      ++at;
    }
    bool holds = false;
    if (text[at] == 'p') {
      const std::uint32_t bit = Number(text, ++at);
      holds = word_.Bits(bit, 4) != kTruePredicate;
    } else if (text[at] == 'r') {
      holds = word_.Bits(Number(text, ++at), 8) != kZeroRegister;
    } else if (text[at] == 'u') {
      holds = UniformAt(word_, Number(text, ++at), dialect_) != kZeroUniform;
    } else {
      holds = word_.Bit(Number(text, at));
    }
    const std::size_t length = out_.size();
    at = Copy(text, at + 1);
    if (holds != wanted) out_.resize(length);
    return at + 1;
  }

  std::size_t Operand(std::string_view text, std::size_t at) {
    const char kind = text[at++];
    switch (kind) {
      case 'd':
        out_ += Own(16);
        return at;
      case 'a':
        out_ += Own(24);
        return at;
      case 'A':
        out_ += Floating(Own(24), word_.Bit(72), word_.Bit(73));
        return at;
      case 'I':
        if (word_.Bit(72)) out_ += Minus();
        out_ += Own(24);
        return at;
      case 'h':
        out_ += Floating(Own(24), word_.Bit(72), word_.Bit(73)) + Halves(74);
        return at + 1;
      case 'k':
        out_ += Floating(Own(24), word_.Bit(72), word_.Bit(73));
        return at + 1;
      case 'B':
        InSlot(Slot::kB, text[at]);
        return at + 1;
      case 'C':
        InSlot(Slot::kC, text[at]);
        return at + 1;
      case 'X':
        InSlot(Slot::kAt32, text[at]);
        return at + 1;
      case 'g':
      case 's':
        out_ += MemoryAddress(word_, form_, kind == 'g', text[at], dialect_);
        return at + 1;
      case 'c':
        return Constant(text, at);
      case 'l':
        out_ += Target(static_cast<std::int64_t>(address_ + kWordBytes + word_.Bits(24, 8)));
        return at;
      case 'z':
        out_ += LoadPredicate(word_);
        return at;
      case 't':
        out_ += Target(static_cast<std::int64_t>(address_ + kWordBytes) + Offset());
        return at;
      case 'o':
        out_ += SignedHex(Offset());
        return at;
      case 'b':
        out_ += Target(static_cast<std::int64_t>(address_ + kWordBytes) + word_.Signed(32, 32));
        return at;
      default:
        return Numbered(kind, text, at);
    }
  }

  std::size_t Numbered(char kind, std::string_view text, std::size_t at) {
    if (kind == 'x') {
      out_ += Hex(Field(text, at, 8));
      return at;
    }
    const std::uint32_t bit = Number(text, at);
    switch (kind) {
      case 'R':
        out_ += Register(word_.Bits(bit, 8));
        break;
      case 'U':
        out_ += UniformIn(bit);
        break;
      case 'P':
        out_ += Predicate(word_.Bits(bit, 3), form_.uniform);
        break;
      case 'Q':
        out_ += Predicate(word_.Bits(bit, 3), true);
        break;
      case 'p':
      case 'q':
        if (word_.Bits(bit, 3) != kTruePredicate) {
          out_ += Predicate(word_.Bits(bit, 3), form_.uniform || kind == 'q') + ", ";
        }
        break;
      case 'v':
        out_ += Predicate(word_.Bits(bit, 3), false) + ", ";
        break;
      case 'N':
      case 'M':
        if (word_.Bit(bit + 3)) out_ += '!';
        out_ += Predicate(word_.Bits(bit, 3), form_.uniform || kind == 'M');
        break;
      case 'n':
        out_ += std::to_string(word_.Bits(bit, 4));
        break;
      case 'S': {
        const auto number = static_cast<std::uint32_t>(word_.Bits(bit, 8));
        const std::string_view name = SpecialRegisterName(number);
        out_ += name.empty() ? "SR" + std::to_string(number) : std::string(name);
        break;
      }
      default:
        break;
    }
    return at;
  }

  std::string UniformIn(unsigned at) const { return Uniform(UniformAt(word_, at, dialect_)); }

  std::string Own(unsigned at) const {
    return form_.uniform ? UniformIn(at) : Register(word_.Bits(at, 8));
  }

  static std::string Floating(std::string text, bool negative, bool absolute) {
    if (absolute) text = "|" + text + "|";
    return negative ? "-" + text : text;
  }

  char Minus() const { return word_.Bit(kCarryBit) ? '~' : '-'; }

  std::string Halves(unsigned at) const {
    static constexpr std::string_view kChoice[] = {"", ".INVALID1", ".H0_H0", ".H1_H1"};
    return std::string(kChoice[word_.Bits(at, 2)]);
  }

  bool IsBfloat() const {
    const bool compares =
        form_.operation == Operation::kHset2 || form_.operation == Operation::kHsetp2;
    return compares ? word_.Bits(64, 2) == 2 : word_.Bit(85);
  }

  // MUFU on half precision or bfloat16.
  bool HasHalfFunction() const {
    return form_.operation == Operation::kMufu && word_.Bits(72, 2) != 0;
  }

  // MUFU on the upper word of a double.
  bool IsHighHalf() const {
    return form_.operation == Operation::kMufu &&
           (word_.Bits(74, 4) == 6 || word_.Bits(74, 4) == 7);
  }

  std::string Immediate(char type) const {
    const auto bits = static_cast<std::uint32_t>(word_.Bits(32, 32));
    switch (type) {
      case 'f':
        if (HasHalfFunction()) return Half(bits & 0xffff, word_.Bits(72, 2) == 2);
        return IsHighHalf() ? Double(bits) : Single(bits);
      case 'd':
        return Double(bits);
      case 'h':
      case 'k':
        return Half(bits >> 16, IsBfloat()) + ", " + Half(bits & 0xffff, IsBfloat());
      default:
        return PrintsUnsigned(form_.operation) ? Hex(bits)
                                               : SignedHex(static_cast<std::int32_t>(bits));
    }
  }

  void InSlot(Slot slot, char type) {
    const SlotPlace place = PlaceOf(word_, slot);
    if (place.kind == SlotKind::kImmediate) {
      out_ += Immediate(type);
      return;
    }
    std::string text;
    if (place.kind == SlotKind::kUniform) {
      text = UniformIn(32);
    } else if (place.kind == SlotKind::kConstant) {
      text = "c[" + Hex(ConstantBank(word_)) + "][" + Hex(ConstantOffset(word_)) + "]";
    } else {
      text = form_.uniform ? UniformIn(place.at) : Register(word_.Bits(place.at, 8));
    }
    const bool first = place.at == 32;
    if (type == 'f' || type == 'd') {
      text = Floating(text, word_.Bit(first ? 63 : 75), word_.Bit(first ? 62 : 74));
    } else if (type == 'h' || type == 'k') {
      text = Floating(text, word_.Bit(first ? 63 : 84), word_.Bit(first ? 62 : 83));
      if (type == 'h') text += Halves(first ? 60 : 81);
    } else if (type == 'i' && word_.Bit(first ? 63 : 75)) {
      text = Minus() + text;
    }
    out_ += text;
  }

  std::size_t Constant(std::string_view text, std::size_t at) {
    std::string index;
    std::int64_t offset = word_.Signed(38, 16);
    if (at < text.size() && text[at] == 'R') {
      ++at;
      if (word_.Bits(24, 8) != kZeroRegister) index = Register(word_.Bits(24, 8));
    } else if (at < text.size() && text[at] == 'U') {
      ++at;
      index = UniformIn(24);
    } else if (at < text.size() && text[at] == 'W') {
      ++at;
      offset = word_.Signed(37, 17);
      if (UniformAt(word_, 24, dialect_) != kZeroUniform) index = UniformIn(24);
    } else {
      offset = static_cast<std::int64_t>(word_.Bits(38, 16));
    }
    out_ += "c[" + Hex(ConstantBank(word_)) + "][";
    const char way = text[at - 1];
    if (index.empty() && offset == 0 && (way == 'R' || way == 'W')) {
      out_ += way == 'R' ? "RZ" : "URZ";
    } else if (index.empty()) {
      out_ += SignedHex(offset);
    } else {
      out_ += index + (offset == 0 ? "" : "+" + SignedHex(offset));
    }
    out_ += ']';
    return at;
  }

  std::int64_t Offset() const { return BranchOffset(word_, dialect_); }

  static std::string Target(std::int64_t address) { return SignedHex(address); }

  const Word& word_;
  const Form& form_;
  std::uint64_t address_;
  Dialect dialect_;
  std::string out_;
};

std::string Guard(const Word& word, bool uniform) {
  const std::uint64_t guard = word.Bits(12, 4);
  if (guard == kTruePredicate) return {};
  return std::string("@") + (word.Bit(15) ? "!" : "") + Predicate(word.Bits(12, 3), uniform) + " ";
}

}  // namespace

std::string Print(const Word& word, std::uint64_t address, Dialect dialect) {
  const Form* form = FindForm(word, dialect);
  if (form == nullptr) return "unknown " + Hex(word.opcode());
  std::string text = form->text.empty() ? PrintSpecial(word, *form, address, dialect)
                                        : Printer(word, *form, address, dialect).Run();
  if (form->operation == Operation::kImad) NameMultiplyAdd(word, text);
  return Guard(word, form->uniform) + text;
}

}  // namespace eidolon::sass
