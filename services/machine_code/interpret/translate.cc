// Everything that an instruction's bits say is looked up once here, because a step runs thousands
// of times: the handler, rows instead of register numbers, immediates spread over all lanes, jumps
// as indices. Operands point to immediates of the program, which is why those are in a deque, whose
// elements stay where they are. A kernel is refused as a whole when one of its instructions has no
// handler, or reads a constant of the driver's whose value is not known: running the rest would
// give wrong numbers, not fewer. The lenient way is for counting, where values hardly matter and
// every instruction does.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "services/base/text.h"
#include "services/machine_code/interpret/canonical.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/layout.h"
#include "services/machine_code/interpret/lenient.h"
#include "services/machine_code/interpret/program.h"
#include "services/machine_code/sass/print.h"

namespace eidolon::interpret {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;
using sass::Form;
using sass::Operation;
using sass::Slot;
using sass::SlotKind;
using sass::Word;

Handler FindHandler(Operation operation, const Word& word, bool* control) {
  *control = false;
  for (const auto find : {FindFloatHandler, FindHalfHandler, FindConvertHandler, FindIntegerHandler,
                          FindBitHandler, FindPredicateHandler, FindUniformHandler,
                          FindMemoryHandler, FindAtomicHandler, FindMatrixHandler}) {
    if (const Handler handler = find(operation, word)) return handler;
  }
  *control = true;
  return FindControlHandler(operation, word);
}

bool IsConstantKnown(const Program& program, std::uint32_t bank, std::uint32_t offset) {
  return bank != 0 || IsKnown(LayoutOf(program.dialect), offset);
}

// Reads a form's text for the operands it has and how their signs are kept.
class OperandReader {
 public:
  OperandReader(const Word& word, const Form& form, Program& program)
      : word_(word), form_(form), program_(program), dialect_(CanonicalDialect(program.dialect)) {}

  // False when an operand is a constant of the driver's whose value is not known.
  bool Read(Step& step) {
    const std::string_view text = form_.text;
    for (std::size_t at = text.find('$'); at != std::string_view::npos;
         at = text.find('$', at + 1)) {
      const std::string_view token = text.substr(at + 1);
      switch (token[0]) {
        case 'a':
          step.a = First(0, 0);
          break;
        case 'A':
          step.a = First(72, 73);
          break;
        case 'I':
          step.a = First(72, 0);
          break;
        case 'h':
        case 'k':
          step.a = First(72, 73);
          break;
        case 'B':
          step.b = InSlot(Slot::kB, token[1]);
          break;
        case 'X':
          step.b = InSlot(Slot::kAt32, token[1]);
          break;
        case 'C':
          // Two operand instructions keep their second one in either slot.
          (HasB(text) ? step.c : step.b) = InSlot(Slot::kC, token[1]);
          break;
        case 'd':
          step.target = static_cast<std::uint16_t>(form_.uniform ? UniformTarget()
                                                                 : TargetRow(word_.Bits(16, 8)));
          break;
        default:
          break;
      }
    }
    return known_;
  }

 private:
  static bool HasB(std::string_view text) {
    return text.find("$B") != std::string_view::npos || text.find("$X") != std::string_view::npos;
  }

  unsigned UniformTarget() const {
    const unsigned number = UniformAt(word_, 16, dialect_);
    return number == sass::kZeroUniform ? sass::kZeroUniform + 1 : number;
  }

  Operand Register(unsigned at) const {
    Operand operand;
    if (form_.uniform) {
      operand.kind = Operand::Kind::kUniform;
      operand.uniform = static_cast<std::uint16_t>(UniformAt(word_, at, dialect_));
    } else {
      operand.row = static_cast<std::uint16_t>(SourceRow(word_.Bits(at, 8)));
    }
    return operand;
  }

  Operand First(unsigned negative, unsigned absolute) const {
    Operand operand = Register(24);
    operand.negative = negative != 0 && word_.Bit(negative);
    operand.absolute = absolute != 0 && word_.Bit(absolute);
    return operand;
  }

  Operand InSlot(Slot slot, char type) {
    const sass::SlotPlace place = PlaceOf(word_, slot);
    Operand operand;
    switch (place.kind) {
      case SlotKind::kImmediate:
        operand.kind = Operand::Kind::kFixed;
        operand.immediate = static_cast<std::uint32_t>(word_.Bits(32, 32));
        program_.immediates.emplace_back().fill(operand.immediate);
        operand.lanes = program_.immediates.back().data();
        return operand;
      case SlotKind::kConstant:
        operand.kind = Operand::Kind::kConstant;
        operand.bank = sass::ConstantBank(word_);
        operand.offset = sass::ConstantOffset(word_);
        program_.banks_read.insert(operand.bank);
        known_ = known_ && IsConstantKnown(program_, operand.bank, operand.offset);
        break;
      case SlotKind::kUniform:
        operand.kind = Operand::Kind::kUniform;
        operand.uniform = static_cast<std::uint16_t>(UniformAt(word_, 32, dialect_));
        break;
      case SlotKind::kRegister:
        operand = Register(place.at);
        break;
    }
    const bool first = place.at == 32;
    if (type == 'f' || type == 'd') {
      operand.negative = word_.Bit(first ? 63 : 75);
      operand.absolute = word_.Bit(first ? 62 : 74);
    } else if (type == 'h' || type == 'k') {
      operand.negative = word_.Bit(first ? 63 : 84);
      operand.absolute = word_.Bit(first ? 62 : 83);
    } else if (type == 'i') {
      operand.negative = word_.Bit(first ? 63 : 75);
    }
    return operand;
  }

  const Word& word_;
  const Form& form_;
  Program& program_;
  sass::Dialect dialect_;
  bool known_ = true;
};

// False for a load of a constant of the driver's whose value is not known.
bool LoadsKnown(const Program& program, Operation operation, const Word& word) {
  const std::uint32_t bank = sass::ConstantBank(word);
  if (operation == Operation::kLdc) {
    return word.Bits(24, 8) != sass::kZeroRegister ||
           IsConstantKnown(program, bank, static_cast<std::uint32_t>(word.Signed(38, 16)));
  }
  const sass::UniformLoad place = sass::UniformLoadOf(word, CanonicalDialect(program.dialect));
  return operation != Operation::kUldc || place.index != sass::kZeroUniform ||
         IsConstantKnown(program, bank, place.offset);
}

bool ReadsClock(Operation operation, const Word& word) {
  constexpr std::uint64_t kClock = 80;
  const bool reads_special = operation == Operation::kS2r || operation == Operation::kCs2r ||
                             operation == Operation::kS2ur;
  return reads_special && word.Bits(72, 8) == kClock;
}

// Notes the needs of the program's warps, by one instruction.
void NoteNeeds(Operation operation, const Word& word, Program& program) {
  if (operation == Operation::kBar || ReadsClock(operation, word)) program.warps_are_apart = false;
  switch (operation) {
    case Operation::kLdl:
    case Operation::kStl:
    case Operation::kLd:
    case Operation::kSt:
      program.uses_local = true;
      break;
    case Operation::kBssy:
    case Operation::kBsync:
    case Operation::kBreak:
    case Operation::kBmovToRegister:
    case Operation::kBmovFromRegister: {
      // Whichever of the two fields holds the number.
      const std::uint64_t most = std::max(word.Bits(16, 4), word.Bits(24, 4));
      program.convergence_barriers =
          std::max(program.convergence_barriers, static_cast<unsigned>(most) + 1);
      break;
    }
    default:
      break;
  }
}

bool Jumps(Operation operation) {
  return operation == Operation::kBra || operation == Operation::kCall;
}

base::Result<Step> TranslateOne(const Word& original, std::size_t index, std::size_t count,
                                Program& program) {
  const std::uint64_t address = index * sass::kWordBytes;
  const auto refuse = [&] {
    return Fail(ErrorCode::kUnsupported,
                StrCat(sass::Print(original, address, program.dialect), " at ", address));
  };
  const auto canonical = Canonical(original, program.dialect);
  if (!canonical) return refuse();
  const Word& word = *canonical;
  const sass::Dialect dialect = CanonicalDialect(program.dialect);
  const Form* form = sass::FindForm(word, dialect);
  if (form == nullptr || !LoadsKnown(program, form->operation, word)) return refuse();
  Step step;
  step.word = word;
  step.dialect = dialect;
  step.form = form;
  step.operation = form->operation;
  step.run = FindHandler(form->operation, word, &step.control);
  if (step.run == nullptr) return refuse();
  step.guard = static_cast<std::uint8_t>(word.Bits(12, 3));
  step.guard_negated = word.Bit(15);
  step.uniform = form->uniform;
  step.offset = sass::OffsetOf(word, form->operation, dialect);
  step.descriptor = sass::HasDescriptor(word, form->operation, dialect);
  step.narrow = sass::IsNarrow(word, form->operation, dialect);
  if (form->operation == Operation::kShfl) {
    step.target = static_cast<std::uint16_t>(TargetRow(word.Bits(16, 8)));
  } else if (!OperandReader(word, *form, program).Read(step)) {
    return refuse();
  }
  if (form->operation == Operation::kLdc || form->operation == Operation::kUldc) {
    program.banks_read.insert(sass::ConstantBank(word));
  }
  if (Jumps(form->operation)) {
    const std::int64_t target =
        static_cast<std::int64_t>(address + sass::kWordBytes) + sass::BranchOffset(word, dialect);
    const auto to = static_cast<std::uint64_t>(target);
    if (target < 0 || to % sass::kWordBytes != 0 || to / sass::kWordBytes >= count) return refuse();
    step.jump = static_cast<std::uint32_t>(to / sass::kWordBytes);
  }
  NoteNeeds(form->operation, word, program);
  return step;
}

// SYNCS.PHASECHK asks a barrier in shared memory whether its phase is over, and gets a predicate.
constexpr std::uint32_t kAsksBarrier = 0x5a7;

// UTCATOMSWS.FIND_AND_SET takes columns of tensor memory that are free: the first ones are.
constexpr std::uint32_t kTakesColumns = 0x5e3;
// USETMAXREG.TRY_ALLOC takes registers that warps of other roles have given back.
constexpr std::uint32_t kTakesRegisters = 0x9c8;

// What asks whether something has happened learns that it has, or loops would wait for what is
// never run.
void PassOver(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  if (word.opcode() == kAsksBarrier) PutPredicate(warp, word, 81, mask, ~0u);
  if (word.opcode() == kTakesRegisters) PutUniformPredicate(warp, word, 81, true);
  if (word.opcode() != kTakesColumns) return;
  PutUniformPredicate(warp, word, 81, true);
  const auto target = static_cast<std::uint32_t>(word.Bits(16, 8));
  if (target != sass::kZeroUniform && target < warp.uniform.size()) warp.uniform[target] = 0;
}

Step PassedOver(const Word& original, const Program& program) {
  const auto canonical = Canonical(original, program.dialect);
  const Word& word = canonical ? *canonical : original;
  Step step;
  step.run = PassOver;
  step.word = word;
  step.dialect = CanonicalDialect(program.dialect);
  step.form = sass::FindForm(word, step.dialect);
  if (step.form != nullptr) {
    step.operation = step.form->operation;
    step.offset = sass::OffsetOf(word, step.operation, step.dialect);
    step.descriptor = sass::HasDescriptor(word, step.operation, step.dialect);
    step.narrow = sass::IsNarrow(word, step.operation, step.dialect);
  }
  step.guard = static_cast<std::uint8_t>(word.Bits(12, 3));
  step.guard_negated = word.Bit(15);
  return step;
}

std::size_t Prepare(std::span<const std::byte> code, Program& program) {
  const std::size_t count = code.size() / sass::kWordBytes;
  program.steps.clear();
  program.banks_read.clear();
  program.uses_local = false;
  program.warps_are_apart = true;
  program.convergence_barriers = 0;
  program.steps.reserve(count);
  return count;
}

Word WordAt(std::span<const std::byte> code, std::size_t index) {
  Word word;
  std::memcpy(&word, code.data() + index * sass::kWordBytes, sass::kWordBytes);
  return word;
}

}  // namespace

bool IsPassedOver(const Step& step) { return step.run == PassOver; }

std::size_t TranslateLeniently(std::span<const std::byte> code, Program& program) {
  const std::size_t count = Prepare(code, program);
  std::size_t passed_over = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Word word = WordAt(code, i);
    auto step = TranslateOne(word, i, count, program);
    if (!step) ++passed_over;
    program.steps.push_back(step ? *step : PassedOver(word, program));
  }
  return passed_over;
}

base::Result<void> Translate(std::span<const std::byte> code, Program& program) {
  const std::size_t count = Prepare(code, program);
  for (std::size_t i = 0; i < count; ++i) {
    auto step = TranslateOne(WordAt(code, i), i, count, program);
    if (!step) return std::unexpected(std::move(step.error()));
    program.steps.push_back(*step);
  }
  return {};
}

}  // namespace eidolon::interpret
