// Each axis is transformed by the definition and not by a fast algorithm: any length works the same
// way, the error stays that of a sum in double precision, and the limit on multiply-adds keeps a
// transform within milliseconds. The order of the axes matters where one side is real. From real
// numbers the last axis comes first, after which half of the spectrum is redundant and is cut off;
// to real numbers it comes last, because only then the missing half is the conjugate of the present
// one along that axis alone. Results are not scaled, as in cuFFT. Members of a batch are
// independent: one with unknown input becomes unknown alone.
#include "shim/value/compute/fourier.h"

#include <cmath>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

// More multiply-adds than this are not done: some milliseconds.
constexpr double kMostFourierWork = 1 << 22;
constexpr double kMostPoints = 1 << 16;

std::int64_t Offset(const FourierSide& side, std::int64_t batch, std::int64_t x, std::int64_t y,
                    std::int64_t z) {
  return batch * side.distance + ((x * side.embed[1] + y) * side.embed[2] + z) * side.stride;
}

// exp(sign 2 pi i k / n) for k below n.
std::vector<Number> Roots(std::int64_t n, bool inverse) {
  std::vector<Number> roots(static_cast<std::size_t>(n));
  const double angle = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
  for (std::size_t k = 0; k < roots.size(); ++k) {
    roots[k] = std::polar(1.0, angle * static_cast<double>(k));
  }
  return roots;
}

// Points of one transform, the last of three dimensions fastest.
struct Grid {
  std::array<std::size_t, 3> size{};
  std::vector<Number> points;

  explicit Grid(std::array<std::size_t, 3> dimensions)
      : size(dimensions), points(size[0] * size[1] * size[2]) {}
};

// Calls body(first, step) for each line of points along an axis.
template <typename Body>
void ForEachLine(const Grid& grid, std::size_t axis, Body&& body) {
  const std::size_t step = axis == 2 ? 1 : axis == 1 ? grid.size[2] : grid.size[1] * grid.size[2];
  const std::size_t length = grid.size[axis];
  for (std::size_t at = 0; at < grid.points.size(); ++at) {
    if (at / step % length == 0) body(at, step);
  }
}

void TransformAxis(Grid& grid, std::size_t axis, bool inverse) {
  const std::size_t length = grid.size[axis];
  if (length == 1) return;
  const std::vector<Number> roots = Roots(static_cast<std::int64_t>(length), inverse);
  std::vector<Number> line(length);
  ForEachLine(grid, axis, [&](std::size_t first, std::size_t step) {
    for (std::size_t k = 0; k < length; ++k) {
      Number sum;
      for (std::size_t j = 0; j < length; ++j) {
        sum += grid.points[first + j * step] * roots[j * k % length];
      }
      line[k] = sum;
    }
    for (std::size_t k = 0; k < length; ++k) grid.points[first + k * step] = line[k];
  });
}

// The last dimension of a transform to real numbers: the other half of the spectrum is the
// conjugate of this one, and the imaginary parts of its first and middle term have no meaning.
Grid ToRealLines(const Grid& half, std::size_t width) {
  Grid real({half.size[0], half.size[1], width});
  const std::vector<Number> roots = Roots(static_cast<std::int64_t>(width), true);
  const std::size_t lines = half.size[0] * half.size[1];
  for (std::size_t at = 0; at < lines; ++at) {
    const Number* spectrum = half.points.data() + at * half.size[2];
    for (std::size_t j = 0; j < width; ++j) {
      double sum = spectrum[0].real();
      for (std::size_t k = 1; k < half.size[2]; ++k) {
        const bool middle = 2 * k == width;
        const Number root = roots[j * k % width];
        sum += middle ? spectrum[k].real() * root.real() : 2 * (spectrum[k] * root).real();
      }
      real.points[at * width + j] = sum;
    }
  }
  return real;
}

// The first points of the last dimension.
Grid Cut(const Grid& grid, std::size_t width) {
  Grid cut({grid.size[0], grid.size[1], width});
  for (std::size_t at = 0; at < cut.points.size(); ++at) {
    cut.points[at] = grid.points[at / width * grid.size[2] + at % width];
  }
  return cut;
}

class DeferredFourier : public value::Deferred {
 public:
  explicit DeferredFourier(const Fourier& fourier) : f_(fourier) {}

  void Perform(value::Store& store) override {
    for (std::int64_t batch = 0; batch < f_.batch; ++batch) {
      Grid grid(Size(f_.InputWidth()));
      if (Load(batch, grid, store)) {
        Write(batch, Transformed(std::move(grid)), store);
      } else {
        Forget(batch, store);
      }
    }
  }

 private:
  std::array<std::size_t, 3> Size(std::int64_t width) const {
    return {static_cast<std::size_t>(f_.lengths[0]), static_cast<std::size_t>(f_.lengths[1]),
            static_cast<std::size_t>(width)};
  }

  // Calls body(address, index of the point) for each of one side's points.
  template <typename Body>
  void ForEachPoint(const FourierSide& side, std::int64_t width, std::int64_t batch,
                    Body&& body) const {
    std::size_t index = 0;
    for (std::int64_t x = 0; x < f_.lengths[0]; ++x) {
      for (std::int64_t y = 0; y < f_.lengths[1]; ++y) {
        for (std::int64_t z = 0; z < width; ++z) {
          const auto offset = static_cast<std::uint64_t>(Offset(side, batch, x, y, z));
          body(side.address + offset * BytesOf(side.type), index++);
        }
      }
    }
  }

  // False when a byte is unknown.
  bool Load(std::int64_t batch, Grid& grid, const value::Store& store) const {
    bool known = true;
    const std::size_t size = BytesOf(f_.input.type);
    ForEachPoint(f_.input, f_.InputWidth(), batch, [&](std::uint64_t address, std::size_t index) {
      unsigned char bytes[16];
      known = known && store.IsKnown(address, size);
      if (!known) return;
      store.Read(address, bytes, size);
      grid.points[index] = ReadNumber(bytes, f_.input.type);
    });
    return known;
  }

  Grid Transformed(Grid grid) const {
    if (f_.to_real) {
      TransformAxis(grid, 0, true);
      TransformAxis(grid, 1, true);
      return ToRealLines(grid, static_cast<std::size_t>(f_.lengths[2]));
    }
    const bool inverse = f_.inverse && !f_.from_real;
    TransformAxis(grid, 2, inverse);
    if (f_.from_real) grid = Cut(grid, static_cast<std::size_t>(f_.OutputWidth()));
    TransformAxis(grid, 1, inverse);
    TransformAxis(grid, 0, inverse);
    return grid;
  }

  void Write(std::int64_t batch, const Grid& grid, value::Store& store) const {
    const std::size_t size = BytesOf(f_.output.type);
    ForEachPoint(f_.output, f_.OutputWidth(), batch, [&](std::uint64_t address, std::size_t index) {
      unsigned char bytes[16];
      WriteNumber(grid.points[index], f_.output.type, bytes);
      store.Write(address, bytes, size);
    });
  }

  void Forget(std::int64_t batch, value::Store& store) const {
    static const value::Author author = value::InternAuthor("cufft.transform");
    const std::size_t size = BytesOf(f_.output.type);
    ForEachPoint(f_.output, f_.OutputWidth(), batch,
                 [&](std::uint64_t address, std::size_t) { store.Forget(address, size, author); });
  }

  const Fourier f_;
};

}  // namespace

std::int64_t Fourier::InputWidth() const { return to_real ? lengths[2] / 2 + 1 : lengths[2]; }
std::int64_t Fourier::OutputWidth() const { return from_real ? lengths[2] / 2 + 1 : lengths[2]; }

std::uint64_t WrittenElements(const Fourier& f) noexcept {
  const std::int64_t last =
      Offset(f.output, f.batch - 1, f.lengths[0] - 1, f.lengths[1] - 1, f.OutputWidth() - 1);
  return static_cast<std::uint64_t>(last) + 1;
}

bool IsSmall(const Fourier& f) noexcept {
  if (f.input.type == Element::kNone || f.output.type == Element::kNone) return false;
  double points = static_cast<double>(f.batch);
  double sum = 0;
  for (const std::int64_t length : f.lengths) {
    points *= static_cast<double>(length);
    sum += static_cast<double>(length);
  }
  return points <= kMostPoints && points * sum <= kMostFourierWork;
}

void Record(const Fourier& fourier) {
  value::ProcessPending().Defer(std::make_unique<DeferredFourier>(fourier));
}

}  // namespace eidolon::shim::compute
