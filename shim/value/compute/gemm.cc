// A GEMM is computed at all so that a program which decides by a small result (a router, a norm, a
// metric) takes the way that it would take on a GPU. Both factors are first brought into rows along
// k, so the inner loop reads two contiguous rows whatever the transpositions are. C is not read
// when beta is zero, as BLAS demands: its unknown bytes must not spread. Once one member of a batch
// cannot be computed, all later ones are unknown; a batch whose table of pointers is unknown may
// have written anywhere, and then everything becomes stale.
//
// In Activated, 0.7978845608028654 is sqrt(2 / pi).
#include "shim/value/compute/gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shim/value/compute/machine_code.h"
#include "shim/value/compute/number.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

// More multiply-adds than this are not done: some hundredths of a second.
constexpr double kMostGemmWork = 1 << 24;
constexpr double kMostElements = 1 << 20;

// Rounds to a significand of 10 bits, to nearest, ties away from zero.
double RoundToTf32(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & ~0x1fffu;
  return static_cast<double>(std::bit_cast<float>(bits));
}

// A matrix of the batch as it lies in memory.
struct Placed {
  std::uint64_t address = 0;
  Element type = Element::kNone;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t leading = 0;
  std::int64_t row_step = 1;

  std::uint64_t Bytes() const {
    if (rows == 0 || cols == 0) return 0;
    const std::int64_t last = (cols - 1) * leading + (rows - 1) * row_step;
    return BytesOf(type) * (static_cast<std::uint64_t>(last) + 1);
  }
};

value::Author GemmAuthor() {
  static const value::Author author = value::InternAuthor("cublas.gemm");
  return author;
}

class DeferredGemm : public value::Deferred {
 public:
  explicit DeferredGemm(const Gemm& gemm) : p_(gemm) {}

  void Perform(value::Store& store) override {
    bool complete = true;
    for (std::int64_t i = 0; i < p_.batch; ++i) {
      const std::optional<Placed> d = Place(p_.d, p_.m, p_.n, i, store);
      if (!d) return store.MakeStale(0, kModuleBegin);
      complete = complete && PerformOne(i, *d, store);
      // Rows between the columns stay what they are, as far as somebody knows them.
      if (!complete) store.Forget(d->address, d->Bytes(), GemmAuthor());
    }
  }

  value::Lookahead Foresee(value::Store& /*store*/, std::uint64_t address, std::size_t size,
                           const Before& before) override {
    using value::Lookahead;
    if (p_.pointer_array) return Lookahead::kMay;
    for (std::int64_t i = 0; i < p_.batch; ++i) {
      if (p_.d.stride < 0) return Lookahead::kMay;
      Placed d{p_.d.address, p_.d.type, p_.m, p_.n, p_.d.leading, p_.d.row_step};
      d.address += BytesOf(p_.d.type) * static_cast<std::uint64_t>(i * p_.d.stride);
      if (address >= d.address + d.Bytes() || d.address >= address + size) continue;
      // Both factors are read whole.
      const bool may_be_done = before(p_.a.address, 1) && before(p_.b.address, 1);
      return may_be_done || p_.k == 0 ? Lookahead::kMay : Lookahead::kUnknown;
    }
    return Lookahead::kNothing;
  }

  bool MayChange(value::Store& store, std::uint64_t address, std::size_t size) override {
    const auto never = [](std::uint64_t, std::size_t) { return false; };
    return Foresee(store, address, size, never) != value::Lookahead::kNothing;
  }

 private:
  std::optional<Placed> Place(const GemmMatrix& matrix, std::int64_t rows, std::int64_t cols,
                              std::int64_t index, const value::Store& store) const {
    Placed placed{matrix.address, matrix.type, rows, cols, matrix.leading, matrix.row_step};
    if (!p_.pointer_array) {
      const std::int64_t offset = index * matrix.stride;
      if (offset < 0) return std::nullopt;
      placed.address += BytesOf(matrix.type) * static_cast<std::uint64_t>(offset);
      return placed;
    }
    const std::uint64_t slot = placed.address + static_cast<std::uint64_t>(index) * 8;
    if (!store.IsKnown(slot, 8)) return std::nullopt;
    store.Read(slot, &placed.address, 8);
    return placed;
  }

  // Row by row of the rows and columns given, or nothing when a byte is unknown.
  static std::optional<std::vector<Number>> Load(const Placed& matrix, const value::Store& store) {
    std::vector<Number> numbers(static_cast<std::size_t>(matrix.rows * matrix.cols));
    const std::size_t width = BytesOf(matrix.type);
    std::vector<unsigned char> bytes(matrix.Bytes());
    const bool dense = matrix.row_step == 1;
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      for (std::int64_t row = 0; row < matrix.rows; row += dense ? matrix.rows : 1) {
        const auto at = static_cast<std::size_t>(col * matrix.leading + row * matrix.row_step);
        const std::size_t size = width * static_cast<std::size_t>(dense ? matrix.rows : 1);
        if (!store.IsKnown(matrix.address + at * width, size)) return std::nullopt;
        store.Read(matrix.address + at * width, bytes.data() + at * width, size);
      }
    }
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t col = 0; col < matrix.cols; ++col) {
        const auto at = static_cast<std::size_t>(col * matrix.leading + row * matrix.row_step);
        numbers[static_cast<std::size_t>(row * matrix.cols + col)] =
            ReadNumber(bytes.data() + at * width, matrix.type);
      }
    }
    return numbers;
  }

  static std::optional<Number> Scalar(const GemmScalar& scalar, const value::Store& store) {
    if (scalar.address == 0) return Number(scalar.real, scalar.imaginary);
    unsigned char bytes[16];
    const std::size_t size = BytesOf(scalar.type);
    if (!store.IsKnown(scalar.address, size)) return std::nullopt;
    store.Read(scalar.address, bytes, size);
    return ReadNumber(bytes, scalar.type);
  }

  // op(matrix) as rows of the inner dimension: `by_rows` for A; B comes column by column.
  std::optional<std::vector<Number>> LoadFactor(const GemmMatrix& matrix, Transpose transpose,
                                                bool first, std::int64_t index,
                                                const value::Store& store) const {
    const std::int64_t outer = first ? p_.m : p_.n;
    const bool plain = transpose == Transpose::kNo;
    // As stored: op(A) is m x k, op(B) is k x n.
    const bool outer_rows = first == plain;
    auto placed = Place(matrix, outer_rows ? outer : p_.k, outer_rows ? p_.k : outer, index, store);
    if (!placed) return std::nullopt;
    auto numbers = Load(*placed, store);
    if (!numbers) return std::nullopt;
    if (!outer_rows) {
      std::vector<Number> turned(numbers->size());
      for (std::int64_t i = 0; i < outer; ++i) {
        for (std::int64_t j = 0; j < p_.k; ++j) {
          turned[static_cast<std::size_t>(i * p_.k + j)] =
              (*numbers)[static_cast<std::size_t>(j * outer + i)];
        }
      }
      numbers = std::move(turned);
    }
    for (Number& number : *numbers) {
      if (transpose == Transpose::kConjugate) number = std::conj(number);
      if (p_.rounds_to_tf32) number = {RoundToTf32(number.real()), RoundToTf32(number.imag())};
    }
    return numbers;
  }

  bool PerformOne(std::int64_t index, const Placed& d, value::Store& store) const {
    const auto alpha = Scalar(p_.alpha, store);
    const auto beta = Scalar(p_.beta, store);
    if (!alpha || !beta) return false;
    const auto a = LoadFactor(p_.a, p_.transpose_a, true, index, store);
    if (!a) return false;
    const auto b = LoadFactor(p_.b, p_.transpose_b, false, index, store);
    if (!b) return false;
    std::optional<std::vector<Number>> c;
    if (*beta != Number{}) {
      const auto placed = Place(p_.c, p_.m, p_.n, index, store);
      if (!placed) return false;
      c = Load(*placed, store);
      if (!c) return false;
    }
    std::optional<std::vector<Number>> bias;
    if (p_.bias.address != 0) {
      bias = Load({p_.bias.address, p_.bias.type, p_.m, 1, p_.m}, store);
      if (!bias) return false;
    }
    Put(
        *alpha, *a, *b,
        [&](std::int64_t row, std::int64_t col, Number sum) {
          if (c) sum += *beta * (*c)[static_cast<std::size_t>(row * p_.n + col)];
          if (bias) sum += (*bias)[static_cast<std::size_t>(row)];
          return Activated(sum);
        },
        d, store);
    return true;
  }

  // Writes finish(row, column, alpha times the sum) to D.
  template <typename Finish>
  void Put(Number alpha, const std::vector<Number>& a, const std::vector<Number>& b,
           Finish&& finish, const Placed& d, value::Store& store) const {
    const bool complex = d.type == Element::kComplexFloat || d.type == Element::kComplexDouble;
    const std::size_t width = BytesOf(d.type);
    const auto step = static_cast<std::size_t>(d.row_step);
    std::vector<unsigned char> column(width * static_cast<std::size_t>(p_.m));
    for (std::int64_t col = 0; col < p_.n; ++col) {
      for (std::int64_t row = 0; row < p_.m; ++row) {
        const Number* x = a.data() + row * p_.k;
        const Number* y = b.data() + col * p_.k;
        const Number sum = alpha * (complex ? Sum(x, y) : Number(RealSum(x, y)));
        WriteNumber(finish(row, col, sum), d.type,
                    column.data() + width * static_cast<std::size_t>(row));
      }
      const std::uint64_t at = d.address + width * static_cast<std::uint64_t>(col * d.leading);
      const std::size_t together = step == 1 ? static_cast<std::size_t>(p_.m) : 1;
      for (std::size_t row = 0; row < static_cast<std::size_t>(p_.m); row += together) {
        store.Write(at + width * step * row, column.data() + width * row, width * together);
      }
    }
  }

  Number Sum(const Number* x, const Number* y) const {
    Number sum;
    for (std::int64_t i = 0; i < p_.k; ++i) sum += x[i] * y[i];
    return sum;
  }
  double RealSum(const Number* x, const Number* y) const {
    double sum = 0;
    for (std::int64_t i = 0; i < p_.k; ++i) sum += x[i].real() * y[i].real();
    return sum;
  }

  Number Activated(Number value) const {
    const double x = value.real();
    switch (p_.activation) {
      case Activation::kRelu:
        return x > 0 || std::isnan(x) ? x : 0;
      case Activation::kGelu:  // The approximation by tanh.
        return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
      default:
        return value;
    }
  }

  const Gemm p_;
};

}  // namespace

GemmScalar HostScalar(const void* scalar, Element type) noexcept {
  const Number number = ReadNumber(static_cast<const unsigned char*>(scalar), type);
  return {.real = number.real(), .imaginary = number.imag(), .type = type};
}

bool IsSmall(const Gemm& p) noexcept {
  const auto count = [&](std::int64_t rows, std::int64_t cols) {
    return static_cast<double>(p.batch) * static_cast<double>(rows) * static_cast<double>(cols);
  };
  return count(p.m, p.n) * static_cast<double>(p.k) <= kMostGemmWork &&
         count(p.m, p.k) + count(p.k, p.n) + count(p.m, p.n) <= kMostElements;
}

void Record(const Gemm& gemm) { value::ProcessPending().Defer(AsDeferred(gemm)); }

std::unique_ptr<value::Deferred> AsDeferred(const Gemm& gemm) {
  return std::make_unique<DeferredGemm>(gemm);
}

}  // namespace eidolon::shim::compute
