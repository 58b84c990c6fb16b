// GEMMs of libraries, computed: small ones, of known matrices, when somebody looks. Sums
// are exact to double precision and rounded once to the result's type; a GPU adds in single
// precision and in another order, so last bits may differ.
#pragma once

#include <cstdint>
#include <memory>

#include "shim/value/compute/number.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {

struct GemmMatrix {
  std::uint64_t address = 0;  // With `pointer_array`: of a table of pointers.
  Element type = Element::kNone;
  std::int64_t leading = 0;   // Elements from column to column.
  std::int64_t stride = 0;    // Between batch members, elements.
  std::int64_t row_step = 1;  // Elements from row to row: vectors have a step of their own.
};

struct GemmScalar {
  double real = 0, imaginary = 0;
  std::uint64_t address = 0;  // Not 0: read from device memory instead.
  Element type = Element::kNone;
};

enum class Transpose : std::uint8_t { kNo, kYes, kConjugate };
enum class Activation : std::uint8_t { kNone, kRelu, kGelu };

// D = activation(alpha op(A) op(B) + beta C + bias), column major: op(A) is m x k, op(B) is k x n.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Transpose transpose_a = Transpose::kNo;
  Transpose transpose_b = Transpose::kNo;
  GemmMatrix a, b, c, d;
  GemmScalar alpha, beta;
  bool pointer_array = false;
  bool rounds_to_tf32 = false;  // The inputs, as tensor cores do.
  GemmMatrix bias;              // Address 0: none. A column of m, added to every column.
  Activation activation = Activation::kNone;
};

// A scalar that lies on the host.
GemmScalar HostScalar(const void* scalar, Element type) noexcept;

// Few enough multiply-adds to be done.
bool IsSmall(const Gemm& gemm) noexcept;

// Puts the GEMM into the order of value operations: D gets its values when all that it reads is
// known, and else becomes unknown. Requires: small.
void Record(const Gemm& gemm);
// The same as work, for a queue of the caller's.
std::unique_ptr<value::Deferred> AsDeferred(const Gemm& gemm);

}  // namespace eidolon::shim::compute
