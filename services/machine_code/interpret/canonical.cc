// Dialects differ in where a few operations keep their fields. Moving fields once, when a kernel is
// translated, keeps each operation at one handler, and the handlers free of questions about the
// architecture. A word is only rewritten when the result does exactly the same; a field that 9.0
// has no counterpart for makes the word unknown, and with it the kernel. Printing both words,
// before and after, is how tests compare them.
#include "services/machine_code/interpret/canonical.h"

#include <array>
#include <cstdint>

#include "services/machine_code/sass/form.h"

namespace eidolon::interpret {
namespace {

using sass::Dialect;
using sass::Operation;
using sass::Word;

// Type fields of integer and floating point atomics, 8.x to 9.0.
constexpr std::uint64_t kUnknownType = ~std::uint64_t{0};
struct AtomicType {
  bool is_float;
  std::uint64_t type;
};
constexpr std::array<AtomicType, 8> kAtomicTypes = {{{false, 0},
                                                     {false, 1},
                                                     {false, 2},
                                                     {true, 9},
                                                     {true, 0},
                                                     {false, 3},
                                                     {true, 15},
                                                     {false, kUnknownType}}};

// 8.x has one operation for atomics on integers and floating point numbers; 9.0 has two.
std::optional<Word> CanonicalAtomic(Word word, bool returns) {
  const AtomicType type = kAtomicTypes[word.Bits(73, 3)];
  if (type.type == kUnknownType) return std::nullopt;
  if (!type.is_float) {
    word.Set(73, 3, type.type);
    return word;
  }
  // Additions only; the field's fourth bit belongs to the type in 9.0.
  if (word.Bits(87, returns ? 4 : 3) != 0 || word.Bit(76)) return std::nullopt;
  word.Set(73, 4, type.type);
  word.Set(0, sass::kBaseBits, returns ? 0x1a3 : 0x1a6);
  return word;
}

// 9.0 keeps the lowest eight bits of the distance apart from the others.
Word CanonicalBranch(Word word) {
  const std::int64_t words = word.Signed(34, 48);
  word.Set(34, 48, static_cast<std::uint64_t>(words >> 8));
  word.Set(16, 8, static_cast<std::uint64_t>(words) & 0xff);
  return word;
}

std::optional<Word> From80(Word word, Operation operation) {
  switch (operation) {
    case Operation::kImnmx:
      word.Set(72, 2, word.Bit(73) ? 1 : 0);
      word.Set(76, 1, 0);
      word.Set(0, sass::kBaseBits, 0x048);
      return word;
    case Operation::kBra:
    case Operation::kBrx:
    case Operation::kBrxu:
    case Operation::kCall:
    case Operation::kRet:
      return CanonicalBranch(word);
    case Operation::kWarpsync:
      word.Set(85, 2, word.Bit(86) ? 1 : 0);
      if (sass::FormOf(word) != 4) word.Set(24, 8, word.Bits(32, 8));
      return word;
    case Operation::kR2ur:
      word.Set(0, sass::kBaseBits, 0x0ca);
      return word;
    case Operation::kRed:
      return CanonicalAtomic(word, false);
    case Operation::kAtom:
      return CanonicalAtomic(word, true);
    case Operation::kLdgsts:  // The bit prefetches; addresses are always wide.
      word.Set(72, 1, 1);
      return word;
    case Operation::kLepc:
      word.Set(0, 12, 0x94e);
      return word;
    default:
      return word;
  }
}

// WARPSYNC.ALL; 8.x names the lanes.
Word WithAllLanes(Word word, Operation operation) {
  if (operation == Operation::kWarpsync && sass::FormOf(word) == 4) word.Set(32, 32, 0xffffffff);
  return word;
}

std::optional<Word> From100(Word word, Operation operation) {
  switch (operation) {
    case Operation::kVimnmx:  // No predicates as results.
      if (word.Bits(81, 6) != 0x3f) return std::nullopt;
      return word;
    case Operation::kCredux: {  // As REDUX, of whole numbers.
      if (word.Bits(74, 1) != 0 || word.Bits(77, 2) != 0) return std::nullopt;
      constexpr std::uint64_t kMinimum = 4;
      constexpr std::uint64_t kMaximum = 5;
      word.Set(78, 3, word.Bit(79) ? kMinimum : kMaximum);
      word.Set(0, sass::kBaseBits, 0x1c4);
      return word;
    }
    case Operation::kLdgsts: {  // The size has two bits; its addresses are always wide.
      constexpr std::uint64_t kFourBytes = 4;
      const std::uint64_t size = word.Bits(74, 2);
      if (size == 3) return std::nullopt;
      word.Set(72, 1, 1);
      word.Set(73, 3, kFourBytes + size);
      return word;
    }
    default:
      return WithAllLanes(word, operation);
  }
}

}  // namespace

std::optional<Word> Canonical(const Word& word, Dialect dialect) {
  const sass::Form* form = sass::FindForm(word, dialect);
  if (form == nullptr) return std::nullopt;
  if (dialect == Dialect::k80) return From80(word, form->operation);
  if (dialect == Dialect::k100) return From100(word, form->operation);
  return WithAllLanes(word, form->operation);
}

}  // namespace eidolon::interpret
