// The words below are those of FlashAttention 3 as nvdisasm shows them. The result of an opaque
// instruction is taken for data that was loaded, and its target may also keep what it held, so
// neither its guard nor the time at which an asynchronous result arrives matters. Variants that
// would need more are refused: a barrier's old content, for example, may be anything that lay in
// shared memory.
#include "services/machine_code/interpret/outline.h"

#include <cstdint>
#include <optional>

#include "services/base/text.h"
#include "services/machine_code/interpret/lenient.h"
#include "services/machine_code/sass/print.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

// Opcodes, the form of the operands included.
constexpr std::uint32_t kFence = 0x3c6;                // FENCE.VIEW.ASYNC
constexpr std::uint32_t kAskBarrier = 0x5a7;           // SYNCS.PHASECHK
constexpr std::uint32_t kArriveAtBarrier = 0x9a7;      // SYNCS.ARRIVE
constexpr std::uint32_t kSetBarrier = 0x5b2;           // SYNCS.EXCH
constexpr std::uint32_t kCopiesArrive = 0x9b0;         // ARRIVES.LDGSTSBAR
constexpr std::uint32_t kLoadTensor = 0x5b4;           // UTMALDG
constexpr std::uint32_t kCacheDescriptor = 0x9b9;      // UTMACCTL
constexpr std::uint32_t kWarpGroup = 0x9c5;            // WARPGROUP
constexpr std::uint32_t kRegisterCount = 0x9c8;        // USETMAXREG
constexpr std::uint32_t kHalves = 0x9f0;               // HGMMA, both factors in shared memory
constexpr std::uint32_t kHalvesOfRegisters = 0xdf0;    // HGMMA, the first one in registers
constexpr std::uint32_t kQuarters = 0x9f3;             // QGMMA
constexpr std::uint32_t kQuartersOfRegisters = 0xdf3;  // QGMMA

std::uint16_t PredicateBit(const Word& word, unsigned first) {
  const auto number = word.Bits(81, 3);
  return number == sass::kTruePredicate ? 0 : static_cast<std::uint16_t>(1u << (number + first));
}

// nullopt: what it writes is not known.
std::optional<DataUse> OpaqueUseOf(const Step& step) {
  const Word& word = step.word;
  DataUse use{.opaque = true};
  switch (word.opcode()) {
    case kFence:
    case kCopiesArrive:
    case kCacheDescriptor:
    case kWarpGroup:
      return use;
    case kAskBarrier:
      use.predicates_written = PredicateBit(word, 0);
      return use;
    case kRegisterCount:
      use.predicates_written = PredicateBit(word, 8);
      return use;
    case kArriveAtBarrier:
      if (word.Bits(16, 8) != sass::kZeroRegister) return std::nullopt;
      return use;
    case kSetBarrier:
      if (UniformIn(step, 16) != sass::kZeroUniform) return std::nullopt;
      return use;
    case kLoadTensor:
      use.loads_into_shared = true;
      return use;
    case kHalves:
    case kHalvesOfRegisters:
    case kQuarters:
    case kQuartersOfRegisters:
      // 64 rows by eighths of columns in single precision; half as many registers in half.
      use.target = PlaceOfRegister(word.Bits(16, 8));
      use.words = 4 * (static_cast<unsigned>(word.Bits(53, 5)) + 1);
      return use;
    default:
      return std::nullopt;
  }
}

// BRA.U.ANY: all lanes take it when one does.
bool IsBranchOfAny(const Word& word) {
  return sass::FormOf(word) == 4 && word.Bits(32, 2) == 1 && word.Bit(84);
}

// Completes a step that was passed over though its form is known. False: it cannot be followed.
bool Complete(std::size_t at, std::size_t count, Step& step) {
  step.uniform = step.form->uniform;
  switch (step.operation) {
    case Operation::kUldc:  // Of constants of the driver's.
    case Operation::kLdc:
    case Operation::kUiadd3Wide:
      return true;
    case Operation::kBra: {
      const std::int64_t target = static_cast<std::int64_t>((at + 1) * sass::kWordBytes) +
                                  sass::BranchOffset(step.word, step.dialect);
      const auto to = static_cast<std::uint64_t>(target);
      const bool is_step =
          target >= 0 && to % sass::kWordBytes == 0 && to / sass::kWordBytes < count;
      if (!IsBranchOfAny(step.word) || !is_step) return false;
      step.jump = static_cast<std::uint32_t>(to / sass::kWordBytes);
      return true;
    }
    default:
      return false;
  }
}

bool IsOpaque(const Step& step) { return step.form == nullptr && IsPassedOver(step); }

}  // namespace

base::Result<void> TranslateToFollow(std::span<const std::byte> code, Program& program) {
  TranslateLeniently(code, program);
  const std::size_t count = program.steps.size();
  for (std::size_t at = 0; at < count; ++at) {
    Step& step = program.steps[at];
    if (!IsPassedOver(step)) continue;
    const bool known = program.dialect == sass::Dialect::k90 &&
                       (IsOpaque(step) ? OpaqueUseOf(step).has_value() : Complete(at, count, step));
    if (known) continue;
    const std::uint64_t address = at * sass::kWordBytes;
    return base::Fail(base::ErrorCode::kUnsupported,
                      base::StrCat(sass::Print(step.word, address, step.dialect), " at ", address));
  }
  return {};
}

DataUse FollowedUseOf(const Step& step) {
  if (!IsOpaque(step)) return UseOf(step);
  return OpaqueUseOf(step).value_or(DataUse{});
}

}  // namespace eidolon::interpret
