// Products of small matrices that a warp holds together, and loading them. Which lane holds which
// element: "Parallel Thread Execution ISA", matrix fragments of mma.m16n8k4 to k16, ldmatrix.
#include <array>
#include <cmath>
#include <cstring>

#include "services/base/small_float.h"
#include "services/contract/machine/machine.h"
#include "services/machine_code/interpret/access.h"
#include "services/machine_code/interpret/float_math.h"
#include "services/machine_code/interpret/handlers.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

constexpr unsigned kMostDepth = 16;

enum class Input : std::uint8_t { kHalf, kBfloat, kTf32 };

struct Product {
  unsigned depth;  // Of the sums.
  Input input;
  bool single;  // Accumulates in single precision.
};

Product ProductOf(const Word& word) {
  static constexpr std::array<unsigned, 3> kDepths = {8, 16, 4};
  return {.depth = kDepths[word.Bits(75, 1) | word.Bits(78, 1) << 1],
          .input = static_cast<Input>(word.Bits(82, 2)),
          .single = word.Bit(76)};
}

bool IsKnownProduct(const Word& word) {
  if ((word.Bits(75, 1) | word.Bits(78, 1) << 1) == 3 || word.Bits(82, 2) == 3) return false;
  const Product product = ProductOf(word);
  if (product.input == Input::kTf32) return product.depth <= 8 && product.single;
  return product.depth >= 8 && (product.single || product.input == Input::kHalf);
}

const std::uint32_t* RowAt(Warp& warp, unsigned row, unsigned offset) {
  return warp.Row(row == kZeroRow ? row : row + offset);
}

// Element `half` of a packed register, or the register as a number whose low bits do not count.
double Number(std::uint32_t bits, unsigned half, Input input) {
  if (input == Input::kTf32) return static_cast<double>(AsFloat(bits & ~0x1fffu));
  const auto part = static_cast<std::uint16_t>(bits >> (16 * half));
  return static_cast<double>(input == Input::kBfloat ? base::BfloatToFloat(part)
                                                     : base::HalfToFloat(part));
}

struct Factors {
  std::array<std::array<double, kMostDepth>, machine::kMatrixRows> a;
  std::array<std::array<double, kMostDepth>, machine::kMatrixColumns> b;
};

// Lane 4g + t holds rows g and g + 8 of A and column g of B, at depths that depend on t.
void ReadFactors(Warp& warp, const Word& word, const Product& product, Factors& out) {
  const unsigned row_a = SourceRow(word.Bits(24, 8));
  const unsigned row_b = SourceRow(word.Bits(32, 8));
  const unsigned packed = product.input == Input::kTf32 ? 1 : 2;
  const unsigned span = 4 * packed;  // Depths that one register of each lane covers.
  for (unsigned part = 0; part * span < product.depth; ++part) {
    const std::uint32_t* upper = RowAt(warp, row_a, 2 * part);
    const std::uint32_t* lower = RowAt(warp, row_a, 2 * part + 1);
    const std::uint32_t* columns = RowAt(warp, row_b, part);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned half = 0; half < packed; ++half) {
        const unsigned depth = part * span + (lane % 4) * packed + half;
        out.a[lane / 4][depth] = Number(upper[lane], half, product.input);
        out.a[lane / 4 + 8][depth] = Number(lower[lane], half, product.input);
        out.b[lane / 4][depth] = Number(columns[lane], half, product.input);
      }
    }
  }
}

double Sum(const Factors& factors, unsigned row, unsigned column, unsigned depth) {
  double sum = 0;
  for (unsigned i = 0; i < depth; ++i) sum += factors.a[row][i] * factors.b[column][i];
  return sum;
}

// Products are exact and added to the accumulator in double precision, rounded once; hardware adds
// with a few bits more than single precision.
void RunHmma(Warp& warp, const Step& step, std::uint32_t mask) {
  const Product product = ProductOf(step.word);
  Factors factors;
  ReadFactors(warp, step.word, product, factors);
  const unsigned row_c = SourceRow(step.word.Bits(64, 8));
  const unsigned registers = product.single ? 4 : 2;
  std::array<Lanes, 4> out;
  for (unsigned i = 0; i < registers; ++i) {
    const std::uint32_t* c = RowAt(warp, row_c, i);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned row = lane / 4 + (i >= registers / 2 ? 8 : 0);
      const unsigned column = 2 * (lane % 4);
      if (product.single) {
        const double sum = Sum(factors, row, column + i % 2, product.depth);
        out[i][lane] = AsBits(static_cast<float>(static_cast<double>(AsFloat(c[lane])) + sum));
      } else {
        const auto at = [&](unsigned half) {
          return base::DoubleToHalf(Number(c[lane], half, Input::kHalf) +
                                    Sum(factors, row, column + half, product.depth));
        };
        out[i][lane] = at(0) | std::uint32_t{at(1)} << 16;
      }
    }
  }
  for (unsigned i = 0; i < registers; ++i) {
    Put(warp, step.target == kLostRow ? kLostRow : step.target + i, mask, out[i]);
  }
}

// Eight by eight elements of two bytes; lanes 8i to 8i + 7 hold the addresses of matrix i's rows.
void RunLdsm(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  const unsigned count = 1u << word.Bits(72, 2);
  const bool transposed = word.Bits(78, 2) == 1;
  const NearAddress address(warp, step, 32, false);
  std::array<Lanes, 4> out;
  for (unsigned i = 0; i < count; ++i) {
    std::array<std::array<std::uint16_t, 8>, 8> rows;
    for (unsigned row = 0; row < 8; ++row) {
      const unsigned lane = 8 * i + row;
      const std::byte* from = Reach(warp, lane, {Space::kShared, address[lane]}, 16, true, false);
      if (from == nullptr) return;
      std::memcpy(rows[row].data(), from, 16);
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned first = 2 * (lane % 4);
      const unsigned other = lane / 4;
      const std::uint32_t low = transposed ? rows[first][other] : rows[other][first];
      const std::uint32_t high = transposed ? rows[first + 1][other] : rows[other][first + 1];
      out[i][lane] = low | high << 16;
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    Put(warp, step.target == kLostRow ? kLostRow : step.target + i, mask, out[i]);
  }
}

// The other way round: a lane names the row that it keeps, and brings two elements of each matrix.
void RunStsm(Warp& warp, const Step& step, std::uint32_t) {
  const Word& word = step.word;
  const unsigned count = 1u << word.Bits(72, 2);
  const bool transposed = word.Bits(78, 2) == 1;
  const NearAddress address(warp, step, 64, false);
  const unsigned source = SourceRow(word.Bits(32, 8));
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t* const values = warp.Row(source == kZeroRow ? kZeroRow : source + i);
    std::array<std::array<std::uint16_t, 8>, 8> rows;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned first = 2 * (lane % 4);
      const unsigned other = lane / 4;
      const auto low = static_cast<std::uint16_t>(values[lane]);
      const auto high = static_cast<std::uint16_t>(values[lane] >> 16);
      (transposed ? rows[first][other] : rows[other][first]) = low;
      (transposed ? rows[first + 1][other] : rows[other][first + 1]) = high;
    }
    for (unsigned row = 0; row < 8; ++row) {
      const unsigned lane = 8 * i + row;
      std::byte* const to = Reach(warp, lane, {Space::kShared, address[lane]}, 16, false, true);
      if (to == nullptr) return;
      std::memcpy(to, rows[row].data(), 16);
    }
  }
}

}  // namespace

Handler FindMatrixHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kHmma:
      return IsKnownProduct(word) ? RunHmma : nullptr;
    case Operation::kLdsm:
      return word.Bits(78, 2) < 2 && word.Bits(72, 2) < 3 ? RunLdsm : nullptr;
    case Operation::kStsm:
      return word.Bits(78, 2) < 2 && word.Bits(72, 2) < 3 ? RunStsm : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
