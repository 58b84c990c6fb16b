// An index into the parameters lies in a constant bank of 64 KB, so bounds are kept in 16 bits, and
// a number that may be larger has none. That makes arithmetic on bounds safe: sums and products of
// 16-bit numbers do not overflow the 64 bits in which they are computed, and Bounds::Between drops
// what became too large. The real computation may wrap around, which only larger numbers do; these
// have no bounds. Operands with a sign, a carry or an upper half are not followed: a missing bound
// makes the result less precise, never wrong.
#include "services/machine_code/interpret/bounds.h"

#include <algorithm>
#include <cstdint>

#include "services/machine_code/interpret/bit_math.h"
#include "services/machine_code/interpret/operation_kinds.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;

Bounds BoundsOfSpecial(std::uint64_t number, const LaunchShape& shape) {
  const auto below = [](const std::optional<Dims>& dims, std::uint32_t Dims::*size) {
    return dims && (*dims).*size != 0 ? Bounds::Between(0, (*dims).*size - 1) : Bounds{};
  };
  switch (number) {
    case 33:
      return below(shape.block, &Dims::x);
    case 34:
      return below(shape.block, &Dims::y);
    case 35:
      return below(shape.block, &Dims::z);
    case 37:
      return below(shape.grid, &Dims::x);
    case 38:
      return below(shape.grid, &Dims::y);
    case 39:
      return below(shape.grid, &Dims::z);
    default:
      return {};
  }
}

Bounds Sum(Bounds a, Bounds b) {
  if (!a.exist() || !b.exist()) return {};
  return Bounds::Between(std::uint64_t{a.least} + b.least, std::uint64_t{a.most} + b.most);
}

Bounds Product(Bounds a, std::uint64_t least, std::uint64_t most) {
  return a.exist() ? Bounds::Between(a.least * least, a.most * most) : Bounds{};
}

// a * b + c, a + b + c, (a << n) + b. Requires: all sources are bounded.
Bounds BoundsOfSum(const Step& step, std::span<const Bounds> sources) {
  const bool shifts = step.operation == Operation::kLea || step.operation == Operation::kUlea;
  if (step.word.Bit(74) || (shifts && step.word.Bit(80))) return {};  // .X, .HI
  Bounds sum{0, 0};
  std::size_t first = 0;
  if (Multiplies(step.operation)) {
    if (sources.size() < 2) return {};
    sum = Product(sources[0], sources[1].least, sources[1].most);
    first = 2;
  } else if (shifts) {
    const std::uint64_t factor = std::uint64_t{1} << step.word.Bits(75, 5);
    sum = Product(sources[0], factor, factor);
    first = 1;
  }
  for (const Bounds& source : sources.subspan(first)) sum = Sum(sum, source);
  return sum;
}

}  // namespace

Bounds BoundsOf(const Step& step, const DataUse& use, std::span<const Bounds> sources,
                const LaunchShape& shape) {
  const bool known = !sources.empty() && std::ranges::all_of(sources, &Bounds::exist) &&
                     std::none_of(use.sources.begin(), use.sources.begin() + use.source_count,
                                  [](const DataSource& source) { return source.negative; });
  switch (step.operation) {
    case Operation::kS2r:
    case Operation::kS2ur:
      return BoundsOfSpecial(step.word.Bits(72, 8), shape);
    case Operation::kHfma2:
    case Operation::kHfma2Mma: {
      const auto constant = ConstantOfHalves(step);
      return constant ? Bounds::Exactly(*constant) : Bounds{};
    }
    case Operation::kMov:
    case Operation::kUmov:
    case Operation::kR2ur:
      return known && sources.size() == 1 ? sources[0] : Bounds{};
    case Operation::kIadd3:
    case Operation::kUiadd3:
    case Operation::kImad:
    case Operation::kUimad:
    case Operation::kLea:
    case Operation::kUlea:
      return known ? BoundsOfSum(step, sources) : Bounds{};
    case Operation::kShf:
    case Operation::kUshf: {
      const FunnelShift shift(step.word);
      // {0, a} << n
      const bool plain = known && sources.size() == 3 && sources[2] == Bounds{0, 0} &&
                         sources[1].least == sources[1].most && sources[1].most < 32 &&
                         !shift.right && !shift.takes_upper;
      if (!plain) return {};
      const std::uint64_t factor = std::uint64_t{1} << sources[1].most;
      return Product(sources[0], factor, factor);
    }
    default:
      return {};
  }
}

}  // namespace eidolon::interpret
