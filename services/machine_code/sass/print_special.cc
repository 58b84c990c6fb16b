// The disassembler names a few operations by what they are used for and leaves out operands by
// rules of their own, which the language of the forms' texts has no words for. The conditions here
// are the disassembler's, found by comparing with it; some look odd (a multiplication by 2^16 or
// 2^31 is not printed as a shift) and are right. Nothing depends on these names: the interpreter
// looks at fields alone.
#include "services/machine_code/sass/print_special.h"

#include <bit>
#include <cstdio>
#include <string_view>

#include "services/machine_code/sass/modifier.h"

namespace eidolon::sass {
namespace {

std::string Register(const Word& word, unsigned at) {
  const std::uint64_t number = word.Bits(at, 8);
  return number == kZeroRegister ? "RZ" : "R" + std::to_string(number);
}

std::string Uniform(const Word& word, unsigned at, Dialect dialect) {
  const std::uint32_t number = UniformAt(word, at, dialect);
  return number == kZeroUniform ? "URZ" : "UR" + std::to_string(number);
}

std::string Predicate(const Word& word, unsigned at) {
  const std::string prefix = "P";
  const std::uint64_t number = word.Bits(at, 3);
  return (word.Bit(at + 3) ? "!" : "") +
         (number == kTruePredicate ? prefix + "T" : prefix + std::to_string(number));
}

std::string Mode(std::string_view list, std::uint64_t number) {
  return std::string(FindModifiers(list)[number]);
}

std::string Target(const Word& word, std::uint64_t address, Dialect dialect) {
  return SignedHex(static_cast<std::int64_t>(address + kWordBytes) + BranchOffset(word, dialect));
}

std::string Shuffle(const Word& word) {
  const std::uint32_t form = FormOf(word);
  std::string text = "SHFL" + Mode("shfl", word.Bits(58, 2)) + " ";
  text += (word.Bits(81, 3) == kTruePredicate ? "PT" : "P" + std::to_string(word.Bits(81, 3)));
  text += ", " + Register(word, 16) + ", " + Register(word, 24) + ", ";
  const bool lane_is_immediate = form == 4 || form == 7;
  const bool mask_is_immediate = form == 2 || form == 7;
  text += lane_is_immediate ? Hex(word.Bits(53, 5)) : Register(word, 32);
  text += ", ";
  text += mask_is_immediate ? Hex(word.Bits(40, 13)) : Register(word, 64);
  return text;
}

std::string Barrier(const Word& word) {
  const std::uint32_t form = FormOf(word);
  const auto mode = static_cast<std::uint32_t>(word.Bits(77, 3));
  std::string text = "BAR" + Mode("bar", mode);
  if (mode == 2) text += Mode("barred", word.Bits(74, 2));
  text += Mode("defer", word.Bits(80, 1));
  text += " ";
  const bool register_id = form == 1 || form == 2;
  text += register_id ? Register(word, 32) : Hex(word.Bits(54, 4));
  if (form == 1 || form == 4) {  // One register holds both numbers, or that of the threads.
    text += ", " + Register(word, 32);
  } else if (word.Bits(42, 12) != 0) {
    text += ", " + Hex(word.Bits(42, 12));
  }
  if (mode == 2) text += ", " + Predicate(word, 87);
  return text;
}

std::string Branch(const Word& word, std::uint64_t address, Dialect dialect) {
  std::string text = "BRA" + Mode("bra", word.Bits(32, 2));
  const bool by_uniform = FormOf(word) == 2;  // A uniform predicate.
  if (word.Bit(84)) text += ".ANY";
  text += " ";
  if (word.Bits(87, 4) != kTruePredicate) text += Predicate(word, 87) + ", ";
  if (by_uniform) {
    const std::uint64_t number = word.Bits(24, 3);
    text += std::string(word.Bit(27) ? "!" : "") + "UP";
    text += (number == kTruePredicate ? "T" : std::to_string(number)) + ", ";
  }
  if (word.Bits(32, 2) >= 2) text += (word.Bit(30) ? "~" : "") + Uniform(word, 24, dialect) + ", ";
  return text + Target(word, address, dialect);
}

std::string WarpSync(const Word& word, std::uint64_t address, Dialect dialect) {
  if (dialect == Dialect::k80) {
    if (FormOf(word) == 4) return "WARPSYNC " + Hex(word.Bits(32, 32));
    return std::string("WARPSYNC") + (word.Bit(86) ? ".EXCLUSIVE " : " ") + Register(word, 32);
  }
  if (FormOf(word) == 4) return "WARPSYNC.ALL";
  static constexpr std::string_view kModes[] = {"", ".EXCLUSIVE", ".COLLECTIVE", ".INVALID3"};
  std::string text = "WARPSYNC" + std::string(kModes[word.Bits(85, 2)]) + " ";
  if (word.Bits(87, 4) != kTruePredicate) text += Predicate(word, 87) + ", ";
  text += Register(word, 24);
  if (word.Bits(85, 2) == 2) text += ", " + Target(word, address, dialect);
  return text;
}

std::string Dependency(const Word& word) {
  std::string text = "DEPBAR";
  if (word.Bit(47)) {
    text += ".LE SB" + std::to_string(word.Bits(44, 3)) + ", " + Hex(word.Bits(38, 6));
    if (word.Bits(32, 6) == 0) return text;
    text += ',';
  }
  text += " {";
  bool first = true;
  for (int i = 5; i >= 0; --i) {
    if (!word.Bit(32 + static_cast<unsigned>(i))) continue;
    text += (first ? "" : ",") + std::to_string(i);
    first = false;
  }
  return text + "}";
}

// The register that a global access takes the memory's properties from; 8.x does not print it.
std::string Descriptor(const std::string& uniform, Dialect dialect) {
  return dialect == Dialect::k80 ? "" : "desc[" + uniform + "]";
}

std::string Sum(const std::string& a, const std::string& b) { return a.empty() ? b : a + "+" + b; }

// LDGSTS: shared target with offset at 44, global source with offset at 32.
std::string CopyAddresses(const Word& word, Dialect dialect) {
  std::string shared = word.Bits(16, 8) == kZeroRegister ? "" : Register(word, 16);
  if (const std::int64_t offset = word.Signed(44, 20); offset != 0) {
    shared = Sum(shared, SignedHex(offset));
  }
  const bool wide = word.Bit(72) || dialect != Dialect::k90;
  std::string global = Register(word, 24) + (wide && word.Bit(91) ? ".64" : "");
  std::string front;
  if (word.Bit(91) && word.Bit(76)) {
    front = Descriptor(Uniform(word, 64, dialect), dialect);
  } else if (word.Bit(91)) {
    global = Sum(global, Uniform(word, 64, dialect));
  }
  if (const std::int64_t offset = word.Signed(32, 12); offset != 0) {
    global = Sum(global, SignedHex(offset));
  }
  return "[" + (shared.empty() ? "RZ" : shared) + "], " + front + "[" + global + "]";
}

}  // namespace

std::string Hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string SignedHex(std::int64_t value) {
  return value < 0 ? "-" + Hex(static_cast<std::uint64_t>(-value))
                   : Hex(static_cast<std::uint64_t>(value));
}

std::string PrintSpecial(const Word& word, const Form& form, std::uint64_t address,
                         Dialect dialect) {
  switch (form.operation) {
    case Operation::kShfl:
      return Shuffle(word);
    case Operation::kBar:
      return Barrier(word);
    case Operation::kBra:
      return Branch(word, address, dialect);
    case Operation::kWarpsync:
      return WarpSync(word, address, dialect);
    case Operation::kDepbar:
      return Dependency(word);
    default:  // NANOSLEEP.
      return "NANOSLEEP" + std::string(word.Bit(84) ? ".SYNCS" : "") + " " +
             (FormOf(word) == 1 ? Register(word, 32) : Hex(word.Bits(32, 32)));
  }
}

std::string MemoryAddress(const Word& word, const Form& form, bool global, char role,
                          Dialect dialect) {
  if (role == 'B') return CopyAddresses(word, dialect);
  std::string base = word.Bits(24, 8) == kZeroRegister ? "" : Register(word, 24);
  std::string front;
  const bool uniform = role != 'N' && word.Bit(91);
  const bool loads = role == 'L' || role == 'M';
  const std::string uniform_name = Uniform(word, loads ? 32 : 64, dialect);
  if (global) {
    const bool descriptor = HasDescriptor(word, form.operation, dialect);
    const bool wide = word.Bit(72) || form.operation == Operation::kStgWide;
    if (uniform && wide && !base.empty()) base += ".64";
    if (uniform && descriptor) {
      front = Descriptor(uniform_name, dialect);
    } else if (uniform) {
      base = Sum(base, uniform_name);
    }
  } else {
    static constexpr std::string_view kScale[] = {"", ".X4", ".X8", ".X16"};
    const bool scaled = role == 'L' || role == 'S';
    if (scaled && !base.empty()) base += kScale[word.Bits(78, 2)];
    if (uniform) base = Sum(base, uniform_name);
  }
  const std::int64_t offset = OffsetOf(word, form.operation, dialect);
  if (offset != 0) base = Sum(base, SignedHex(offset));
  return front + "[" + (base.empty() ? "RZ" : base) + "]";
}

std::string LoadPredicate(const Word& word) {
  const std::uint64_t number = word.Bits(64, 3) ^ kTruePredicate;
  if (word.Bits(64, 4) == 0) return {};
  return std::string(", ") + (word.Bit(67) ? "!" : "") +
         (number == kTruePredicate ? "PT" : "P" + std::to_string(number));
}

void NameMultiplyAdd(const Word& word, std::string& text) {
  const SlotPlace b = PlaceOf(word, Slot::kB);
  const SlotPlace c = PlaceOf(word, Slot::kC);
  const bool no_c = c.kind == SlotKind::kRegister && word.Bits(c.at, 8) == kZeroRegister;
  if (word.Bit(74)) return;
  std::string_view use;
  if (b.kind == SlotKind::kRegister && word.Bits(b.at, 8) == kZeroRegister &&
      word.Bits(24, 8) == kZeroRegister && c.kind != SlotKind::kUniform) {
    use = ".MOV";
  } else if (b.kind == SlotKind::kImmediate) {
    const auto value = static_cast<std::uint32_t>(word.Bits(32, 32));
    if (value == 1) {
      use = ".IADD";
    } else if (no_c && std::has_single_bit(value) && value != 0x10000 && value != 0x80000000) {
      use = ".SHL";
    }
  }
  constexpr std::size_t kName = 4;
  text.insert(kName, use);
}

bool PrintsUnsigned(Operation operation) {
  switch (operation) {
    case Operation::kLop3:
    case Operation::kUlop3:
    case Operation::kMov:
    case Operation::kUmov:
    case Operation::kPrmt:
    case Operation::kUprmt:
    case Operation::kSel:
    case Operation::kUsel:
    case Operation::kShf:
    case Operation::kUshf:
    case Operation::kSgxt:
    case Operation::kBmsk:
    case Operation::kUbmsk:
    case Operation::kViadd:
    case Operation::kViaddmnmx:
    case Operation::kLea:
    case Operation::kUlea:
      return true;
    default:
      return false;
  }
}

}  // namespace eidolon::sass
