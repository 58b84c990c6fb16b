// A kernel's time is looked up by the parameter bytes that its code can read, so a byte that is
// missed here would make two different launches one. The search therefore takes every step of the
// code, reached or not, and errs on the wide side: eight bytes unless the operation is known to
// take four. An indexed read means an element of an array whose length is not known here; where its
// offset lies before the parameters, it counts from the first one, because the index may lead past
// it.
#include "services/machine_code/interpret/constant_reads.h"

#include <algorithm>
#include <tuple>

namespace eidolon::interpret {
namespace {

using sass::Operation;

// Operations whose constant operand is four bytes wide; those of others may be eight.
bool TakesWord(Operation operation) {
  switch (operation) {
    case Operation::kFadd:
    case Operation::kFmul:
    case Operation::kFfma:
    case Operation::kFsel:
    case Operation::kFmnmx:
    case Operation::kFset:
    case Operation::kFsetp:
    case Operation::kFchk:
    case Operation::kMufu:
    case Operation::kHadd2:
    case Operation::kHmul2:
    case Operation::kHfma2:
    case Operation::kHmnmx2:
    case Operation::kHset2:
    case Operation::kHsetp2:
    case Operation::kIadd3:
    case Operation::kImad:
    case Operation::kIabs:
    case Operation::kIsetp:
    case Operation::kLea:
    case Operation::kLop3:
    case Operation::kPrmt:
    case Operation::kShf:
    case Operation::kSgxt:
    case Operation::kBmsk:
    case Operation::kVimnmx:
    case Operation::kViadd:
    case Operation::kSel:
    case Operation::kMov:
    case Operation::kPopc:
    case Operation::kFlo:
    case Operation::kBrev:
      return true;
    default:
      return false;
  }
}

class Reader {
 public:
  explicit Reader(const Program& program) : program_(program) {}

  void Look(const Step& step) {
    if (step.operation == Operation::kLdc) {
      Load(step, step.word.Signed(38, 16), step.word.Bits(24, 8) != sass::kZeroRegister);
    } else if (step.operation == Operation::kUldc) {
      const sass::UniformLoad place = sass::UniformLoadOf(step.word, step.dialect);
      Load(step, static_cast<std::int32_t>(place.offset), place.index != sass::kZeroUniform);
    }
    const std::uint32_t bytes = TakesWord(step.operation) ? 4 : 8;
    for (const Operand* operand : {&step.a, &step.b, &step.c}) {
      if (operand->kind == Operand::Kind::kConstant) {
        Add(operand->bank, operand->offset, bytes, false);
      }
    }
  }

  std::vector<ParameterRead> Take() {
    const auto place = [](const ParameterRead& read) {
      return std::tuple(read.offset, read.bytes, read.indexed);
    };
    std::ranges::sort(reads_, {}, place);
    reads_.erase(std::ranges::unique(reads_).begin(), reads_.end());
    return std::move(reads_);
  }

 private:
  void Load(const Step& step, std::int64_t offset, bool indexed) {
    // U8, S8, U16, S16, 32, 64, 128 bits.
    constexpr std::uint32_t kBytes[8] = {1, 1, 2, 2, 4, 8, 16, 16};
    Add(sass::ConstantBank(step.word), offset, kBytes[step.word.Bits(73, 3)], indexed);
  }

  void Add(std::uint32_t bank, std::int64_t offset, std::uint32_t bytes, bool indexed) {
    if (bank != 0) return;
    const std::int64_t base = program_.parameter_base;
    if (offset < base) {
      // What lies before the parameters is the launch's; an index may lead past it.
      if (!indexed) return;
      offset = base;
    }
    reads_.push_back({static_cast<std::uint32_t>(offset - base), bytes, indexed});
  }

  const Program& program_;
  std::vector<ParameterRead> reads_;
};

}  // namespace

std::vector<ParameterRead> ParameterReads(const Program& program) {
  Reader reader(program);
  for (const Step& step : program.steps) reader.Look(step);
  return reader.Take();
}

}  // namespace eidolon::interpret
