#include "services/machine_code/interpret/constant_origins.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

namespace eidolon::interpret {
namespace {

constexpr std::size_t kLastPointer = 63;
constexpr std::int64_t kBankBytes = 1 << 16;
constexpr std::uint32_t kCompilerBank = 2;

}  // namespace

ConstantOrigins::ConstantOrigins(const Program& program, std::span<const std::uint32_t> pointers)
    : base_(program.parameter_base), pointers_(pointers) {
  const auto bank = program.banks.find(kCompilerBank);
  if (bank != program.banks.end()) compilers_ = bank->second;
}

Origin ConstantOrigins::Among(std::int64_t begin, std::int64_t end) const {
  Origin result = kNeither;
  for (std::size_t i = 0; i < pointers_.size(); ++i) {
    const std::int64_t at = std::int64_t{base_} + pointers_[i];
    if (begin >= at + 8 || at >= end) continue;
    result.ways |= kFromPointer;
    result.pointers |= std::uint64_t{1} << std::min(i, kLastPointer);
  }
  return result;
}

Origin ConstantOrigins::At(std::uint32_t bank, std::uint32_t offset) const {
  Origin result = kNeither;
  if (bank == 0) {
    result = Among(offset, std::int64_t{offset} + 4);
    if (result.pointers != 0) result.ways = kFromPointer;
  } else if (bank == kCompilerBank && std::uint64_t{offset} + 4 <= compilers_.size()) {
    std::uint32_t number;
    std::memcpy(&number, compilers_.data() + offset, 4);
    result.bounds = Bounds::Exactly(number);
  }
  return result;
}

Origin ConstantOrigins::Behind(const Step& load, std::uint32_t bank, std::int64_t offset,
                               const Origin& index) const {
  constexpr std::array<std::int64_t, 8> kBytes = {1, 1, 2, 2, 4, 8, 16, 16};
  Origin result = kNeither;
  if (bank == 0) {
    const std::int64_t begin = offset + index.bounds.least;
    const std::int64_t end = offset + index.bounds.most + kBytes[load.word.Bits(73, 3)];
    const bool bounded = index.bounds.exist() && offset >= 0 && end <= kBankBytes;
    result = bounded ? Among(begin, end) : Among(0, std::numeric_limits<std::int64_t>::max());
  }
  result.values = index.values;
  return result;
}

}  // namespace eidolon::interpret
