// The texts by which instructions are printed (print.h) also state where an operation keeps its
// operands, so the analysis reads those instead of a second table: a row that is added for printing
// is known here at once. Operations whose texts are special, or that read more than they print,
// follow in UseOf. Three readers interpret the texts, this one, the translation (translate.cc) and
// the printer (print.cc); a new kind of operand must be added to all of them.
#include "services/machine_code/interpret/data_use.h"

#include <cctype>
#include <string_view>

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Slot;
using sass::SlotKind;
using sass::Word;

constexpr std::uint16_t kAllPredicates = 0x7f;

std::uint16_t PredicateBit(const Word& word, unsigned at, bool uniform) {
  const auto number = word.Bits(at, 3);
  if (number == sass::kTruePredicate) return 0;
  return static_cast<std::uint16_t>(1u << (number + (uniform ? 8 : 0)));
}

unsigned NumberIn(std::string_view text) {
  unsigned number = 0;
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
    number = number * 10 + static_cast<unsigned>(text[0] - '0');
    text.remove_prefix(1);
  }
  return number;
}

// Words that the result takes.
unsigned WordsOf(const Step& step) {
  const Word& word = step.word;
  const auto by_size = [&] {
    const auto size = word.Bits(73, 3);
    return size == 5 ? 2u : size == 6 ? 4u : 1u;
  };
  switch (step.operation) {
    case Operation::kLdg:
    case Operation::kLd:
    case Operation::kLds:
    case Operation::kLdl:
    case Operation::kLdc:
    case Operation::kUldc:
      return by_size();
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kAtomFloat:
    case Operation::kAtoms:
    case Operation::kAtomsCas:
    case Operation::kFadd2:
    case Operation::kFmul2:
    case Operation::kFfma2:
    case Operation::kDadd:
    case Operation::kDmul:
    case Operation::kDfma:
    case Operation::kImadWide:
    case Operation::kUimadWide:
    case Operation::kUiadd3Wide:
    case Operation::kLepc:
      return 2;
    case Operation::kF2f:
    case Operation::kF2i:
    case Operation::kI2f:
    case Operation::kFrnd:
      return word.Bits(75, 2) == 3 ? 2 : 1;
    case Operation::kCs2r:
      return word.Bit(80) ? 2 : 1;
    case Operation::kHmma:
      return word.Bit(76) ? 4 : 2;
    case Operation::kLdgWide:
    case Operation::kLdsm:
      return 4;
    default:
      return 1;
  }
}

class FormReader {
 public:
  FormReader(const Step& step, const sass::Form& form, DataUse& use)
      : step_(step), form_(form), use_(use) {}

  void Read() {
    const std::string_view text = form_.text;
    for (std::size_t at = text.find('$'); at != std::string_view::npos;
         at = text.find('$', at + 1)) {
      ReadToken(text[at + 1], text.substr(at + 2));
    }
  }

 private:
  void ReadToken(char token, std::string_view rest) {
    const Word& word = step_.word;
    switch (token) {
      case 'a':
      case 'A':
      case 'I':
      case 'h':
      case 'k':
        return Add({.kind = DataSource::Kind::kPlace,
                    .slot = 'a',
                    .negative = token == 'I' && word.Bit(72),
                    .place = Own(24)});
      case 'B':
        return AddSlot(Slot::kB, 'B', rest[0]);
      case 'X':
        return AddSlot(Slot::kAt32, 'B', rest[0]);
      case 'C':
        return AddSlot(Slot::kC, 'C', rest[0]);
      case 'R':
        return Add({.kind = DataSource::Kind::kPlace,
                    .slot = 'a',
                    .place = PlaceOfRegister(word.Bits(NumberIn(rest), 8))});
      case 'U':
        if (NumberIn(rest) == 16) {
          use_.target = PlaceOfUniform(UniformIn(step_, 16));
          return;
        }
        return Add({.kind = DataSource::Kind::kPlace,
                    .slot = 'a',
                    .place = PlaceOfUniform(UniformIn(step_, NumberIn(rest)))});
      case 'd':
        use_.target = form_.uniform ? PlaceOfUniform(UniformIn(step_, 16))
                                    : PlaceOfRegister(word.Bits(16, 8));
        return;
      case 'N':
        use_.predicates_read |= PredicateBit(word, NumberIn(rest), form_.uniform);
        return;
      case 'M':
        use_.predicates_read |= PredicateBit(word, NumberIn(rest), true);
        return;
      case 'P':
      case 'p':
      case 'v':
        use_.predicates_written |= PredicateBit(word, NumberIn(rest), form_.uniform);
        return;
      case 'Q':
        use_.predicates_written |= PredicateBit(word, NumberIn(rest), true);
        return;
      default:
        return;
    }
  }

  std::uint16_t Own(unsigned at) const {
    return form_.uniform ? PlaceOfUniform(UniformIn(step_, at))
                         : PlaceOfRegister(step_.word.Bits(at, 8));
  }

  void Add(const DataSource& source) {
    if (use_.source_count < use_.sources.size()) use_.sources[use_.source_count++] = source;
  }

  void AddSlot(Slot slot, char name, char type) {
    const Word& word = step_.word;
    const sass::SlotPlace place = sass::PlaceOf(word, slot);
    DataSource source{.slot = name};
    if (type == 'i') source.negative = word.Bit(place.at == 32 ? 63 : 75);
    switch (place.kind) {
      case SlotKind::kImmediate:
        source.negative = false;
        source.number = static_cast<std::uint32_t>(word.Bits(32, 32));
        break;
      case SlotKind::kConstant:
        source.kind = DataSource::Kind::kConstant;
        source.number = sass::ConstantOffset(word);
        source.bank = sass::ConstantBank(word);
        break;
      case SlotKind::kUniform:
        source.kind = DataSource::Kind::kPlace;
        source.place = PlaceOfUniform(UniformIn(step_, 32));
        break;
      case SlotKind::kRegister:
        source.kind = DataSource::Kind::kPlace;
        source.place = Own(place.at);
        break;
    }
    Add(source);
  }

  const Step& step_;
  const sass::Form& form_;
  DataUse& use_;
};

void ReadShuffle(const Word& word, DataUse& use) {
  const std::uint32_t form = sass::FormOf(word);
  const auto add = [&](unsigned at, char slot) {
    use.sources[use.source_count++] = {
        .kind = DataSource::Kind::kPlace, .slot = slot, .place = PlaceOfRegister(word.Bits(at, 8))};
  };
  add(24, 'a');
  if (form != 4 && form != 7) add(32, 'B');
  if (form != 2 && form != 7) add(64, 'C');
  use.target = PlaceOfRegister(word.Bits(16, 8));
  use.predicates_written = PredicateBit(word, 81, false);
}

// The barrier's number, that of the threads it waits for, or both.
void ReadBarrier(const Word& word, DataUse& use) {
  const std::uint32_t form = sass::FormOf(word);
  if (form != 1 && form != 2 && form != 4) return;
  use.sources[use.source_count++] = {
      .kind = DataSource::Kind::kPlace, .slot = 'B', .place = PlaceOfRegister(word.Bits(32, 8))};
}

}  // namespace

DataUse UseOf(const Step& step) {
  DataUse use;
  const sass::Form* form = step.form;
  if (step.operation == Operation::kShfl) {
    ReadShuffle(step.word, use);
  } else if (form != nullptr) {
    FormReader(step, *form, use).Read();
    use.words = WordsOf(step);
  }
  switch (step.operation) {
    case Operation::kP2r:
      use.predicates_read = kAllPredicates;
      break;
    case Operation::kR2p:
      use.predicates_written = kAllPredicates;
      break;
    case Operation::kVote:
      if (form == nullptr || step.word.Bits(16, 8) == sass::kZeroRegister) use.target = kNowhere;
      break;
    case Operation::kMatch:
      if (step.word.Bit(73) && step.word.Bits(24, 8) != sass::kZeroRegister) {
        use.sources[use.source_count++] = {.kind = DataSource::Kind::kPlace,
                                           .slot = 'b',
                                           .place = PlaceOfRegister(step.word.Bits(24, 8) + 1)};
      }
      break;
    case Operation::kLdgWide:
      use.second_target = PlaceOfRegister(step.word.Bits(64, 8));
      use.source_count = 0;
      break;
    case Operation::kUp2ur:
      use.predicates_read = kAllPredicates << 8;
      break;
    case Operation::kBra:  // Their texts are special.
      if (sass::FormOf(step.word) == 2) use.predicates_read |= PredicateBit(step.word, 24, true);
      [[fallthrough]];
    case Operation::kWarpsync:
      use.predicates_read |= PredicateBit(step.word, 87, false);
      break;
    case Operation::kBar:
      ReadBarrier(step.word, use);
      use.predicates_read |= PredicateBit(step.word, 87, false);
      break;
    default:
      break;
  }
  return use;
}

std::uint16_t GuardOf(const Step& step) {
  if (step.guard == sass::kTruePredicate) return 0;
  return static_cast<std::uint16_t>(1u << (step.guard + (step.uniform ? 8 : 0)));
}

}  // namespace eidolon::interpret
