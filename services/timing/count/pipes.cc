// Throughput belongs to a pipe, not to an operation, so the table of clocks has a row for each pipe
// and differs by compute capability only there. Instructions that the interpreter has no row for
// (WGMMA, tcgen05) are recognised by the bits of their words; PipeOf must look at them before it
// takes a step without a form for kOther. Ranges of sass::Operation stand for groups, so a new
// operation has to be put into its group there.
#include "services/timing/count/pipes.h"

#include "services/base/check.h"
#include "services/contract/machine/machine.h"
#include "services/machine_code/interpret/operation_kinds.h"

namespace eidolon::timing::count {

using sass::Operation;

std::string_view Name(Pipe pipe) {
  switch (pipe) {
    case Pipe::kFma:
      return "FMA";
    case Pipe::kHalf:
      return "half precision";
    case Pipe::kDouble:
      return "double precision";
    case Pipe::kAlu:
      return "ALU";
    case Pipe::kTranscendental:
      return "MUFU";
    case Pipe::kShuffle:
      return "shuffles";
    case Pipe::kMemory:
      return "LSU";
    case Pipe::kUniform:
      return "uniform";
    case Pipe::kControl:
      return "branches";
    case Pipe::kTensor:
      return "tensor cores";
    case Pipe::kOther:
      return "other";
    case Pipe::kMultiply:
      return "integer multiplications";
    case Pipe::kWideMultiply:
      return "wide multiplications";
  }
  CHECK(false);
}

std::string_view Name(MatrixType type) {
  switch (type) {
    case MatrixType::kBf16:
      return "bf16";
    case MatrixType::kTf32:
      return "tf32";
    case MatrixType::kFp8:
      return "fp8";
    case MatrixType::kInt8:
      return "int8";
    case MatrixType::kFp64:
      return "fp64_tensor";
    case MatrixType::kFp4:
      return "fp4";
  }
  CHECK(false);
}

namespace {

// Returns the pipe by the order of sass::Operation.
Pipe PipeOfArithmetic(Operation operation) {
  switch (operation) {
    case Operation::kFadd:
    case Operation::kFmul:
    case Operation::kFfma:
    case Operation::kFadd2:
    case Operation::kFmul2:
    case Operation::kFfma2:
      return Pipe::kFma;
    case Operation::kImad:
    case Operation::kIdp:
      return Pipe::kMultiply;
    case Operation::kImadWide:
    case Operation::kImadHi:
      return Pipe::kWideMultiply;
    case Operation::kHadd2:
    case Operation::kHmul2:
    case Operation::kHfma2:
    case Operation::kHfma2Mma:
      return Pipe::kHalf;
    case Operation::kDadd:
    case Operation::kDmul:
    case Operation::kDfma:
    case Operation::kDsetp:
      return Pipe::kDouble;
    case Operation::kMufu:
    case Operation::kF2f:
    case Operation::kF2i:
    case Operation::kI2f:
    case Operation::kFrnd:
    case Operation::kPopc:
    case Operation::kFlo:
    case Operation::kBrev:
    case Operation::kFchk:
      return Pipe::kTranscendental;
    case Operation::kShfl:
    case Operation::kMatch:
    case Operation::kRedux:
    case Operation::kCredux:
      return Pipe::kShuffle;
    case Operation::kHmma:
      return Pipe::kTensor;
    default:
      return Pipe::kAlu;
  }
}

}  // namespace

Pipe PipeOf(const interpret::Step& step) {
  MatrixType ignored{};
  if (MatrixOperations(step, &ignored) > 0 || MatrixDescriptorRow(step)) return Pipe::kTensor;
  if (step.form == nullptr) return Pipe::kOther;
  if (step.uniform || step.operation == Operation::kR2ur) return Pipe::kUniform;
  if (step.control) return Pipe::kControl;
  if (step.operation >= Operation::kLdc && step.operation <= Operation::kQspc) {
    return Pipe::kMemory;
  }
  return PipeOfArithmetic(step.operation);
}

double ClocksOf(Pipe pipe, std::uint32_t compute_major, std::uint32_t compute_minor) {
  const bool is_80 = compute_major == 8 && compute_minor == 0;
  const bool is_small = (compute_major == 8 && !is_80) || compute_major >= 12;  // Without HBM.
  switch (pipe) {
    case Pipe::kFma:
      return is_80 ? 32.0 / 64 : 32.0 / 128;
    case Pipe::kHalf:
      return 32.0 / 128;
    case Pipe::kDouble:
      return is_small ? 32.0 / 2 : is_80 ? 32.0 / 32 : 32.0 / 64;
    case Pipe::kAlu:
    case Pipe::kMultiply:
      return 32.0 / 64;
    case Pipe::kWideMultiply:
      return 32.0 / 32;
    case Pipe::kTranscendental:
      return 32.0 / 16;
    case Pipe::kShuffle:
    case Pipe::kMemory:
      return 32.0 / 32;
    default:
      return 0;
  }
}

namespace {

// Bases of instructions that the interpreter does not know, of 9.0.
constexpr std::uint32_t kHgmma = 0x1f0;
constexpr std::uint32_t kQgmma = 0x1f3;
constexpr std::uint32_t kWarpgroup = 0x1c5;
constexpr std::uint32_t kArrive = 0x9a7;

// WGMMA: 64 rows by 8 to 256 columns; the depth follows from the type.
double GroupOperations(const sass::Word& word, MatrixType* type) {
  const std::uint32_t base = word.opcode() & sass::kBaseMask;
  if (base != kHgmma && base != kQgmma) return 0;
  const double columns = 8.0 * static_cast<double>(word.Bits(53, 5) + 1);
  constexpr std::uint64_t kTf32 = 2;
  const bool is_tf32 = base == kHgmma && word.Bits(76, 2) == kTf32;
  *type = base == kQgmma ? MatrixType::kFp8 : is_tf32 ? MatrixType::kTf32 : MatrixType::kBf16;
  const double depth = base == kQgmma ? 32 : is_tf32 ? 8 : 16;
  return 2.0 * machine::kMatrixRows * columns * depth;
}

}  // namespace

std::optional<unsigned> MatrixDescriptorRow(const interpret::Step& step) {
  constexpr std::uint32_t kTensorMemory = 0x1ea;
  if (step.form != nullptr || (step.word.opcode() & sass::kBaseMask) != kTensorMemory) {
    return std::nullopt;
  }
  return static_cast<unsigned>(step.word.Bits(40, 8)) + 1;
}

bool IsOfBlockPair(const interpret::Step& step) {
  return MatrixDescriptorRow(step).has_value() && step.word.Bit(85);
}

double DescribedOperations(const interpret::Step& step, std::uint32_t descriptor,
                           MatrixType* type) {
  constexpr std::uint32_t kTf32 = 2;
  const sass::Word& word = step.word;
  const double rows = 16.0 * (descriptor >> 24 & 0x1f);
  const double columns = 8.0 * (descriptor >> 17 & 0x3f);
  // Each instruction's depth is 32 bytes of a row.
  double depth = 32;
  if (word.Bit(63)) {  // UTCOMMA
    *type = MatrixType::kFp4;
    depth = 64;
  } else if (word.Bits(72, 2) == 1) {  // UTCIMMA
    *type = MatrixType::kInt8;
  } else if (word.Bits(72, 2) == 3) {  // UTCQMMA
    *type = MatrixType::kFp8;
  } else if ((descriptor >> 7 & 7) == kTf32) {
    *type = MatrixType::kTf32;
    depth = 8;
  } else {
    *type = MatrixType::kBf16;
    depth = 16;
  }
  return 2 * rows * columns * depth;
}

bool EndsMatrixGroup(const interpret::Step& step) {
  constexpr std::uint64_t kNoGroup = 7;
  const std::uint32_t base = step.word.opcode() & sass::kBaseMask;
  return step.form == nullptr && (base == kHgmma || base == kQgmma) &&
         step.word.Bits(84, 3) != kNoGroup;
}

std::optional<unsigned> MatrixGroupsLeft(const interpret::Step& step) {
  const sass::Word& word = step.word;
  if ((word.opcode() & sass::kBaseMask) != kWarpgroup || !word.Bit(47)) return std::nullopt;
  return static_cast<unsigned>(word.Bits(72, 3));
}

bool AnnouncesBytes(const interpret::Step& step) {
  return step.form == nullptr && step.word.opcode() == kArrive && !step.word.Bit(84);
}

double LaneOperations(const interpret::Step& step) {
  if (step.uniform) return 0;
  switch (step.operation) {
    case Operation::kFadd:
    case Operation::kFmul:
    case Operation::kDadd:
    case Operation::kDmul:
      return 1;
    case Operation::kFfma:
    case Operation::kDfma:
    case Operation::kFadd2:  // Two numbers from here on.
    case Operation::kFmul2:
    case Operation::kHadd2:
    case Operation::kHmul2:
      return 2;
    case Operation::kHfma2:
    case Operation::kHfma2Mma:
      // Compilers load constants by it.
      return interpret::ConstantOfHalves(step) ? 0 : 4;
    case Operation::kFfma2:
      return 4;
    default:
      return 0;
  }
}

double MatrixOperations(const interpret::Step& step, MatrixType* type) {
  if (step.form == nullptr) return GroupOperations(step.word, type);
  if (step.operation != Operation::kHmma) return 0;
  // Values are those of interpret/matrix_handlers.cc: depths and types of the operands.
  constexpr double kDepths[] = {8, 16, 4, 16};
  constexpr std::uint64_t kTf32 = 2;
  const sass::Word& word = step.word;
  *type = word.Bits(82, 2) == kTf32 ? MatrixType::kTf32 : MatrixType::kBf16;
  return 2.0 * machine::kMatrixRows * machine::kMatrixColumns *
         kDepths[word.Bits(75, 1) | word.Bits(78, 1) << 1];
}

}  // namespace eidolon::timing::count
