// Bilinear interpolation as cuDNN's spatial transformer does it: -1 and 1 are the centres of the
// outermost pixels (align_corners in PyTorch), a point has the weights (1 - |dx|)(1 - |dy|) for the
// four pixels around it, and pixels outside of the picture count as zero. The limit on elements
// bounds the loop, and the limit on coordinates keeps the conversion to integers defined.
#include "shim/value/compute/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr double kMostSampledElements = 1 << 18;

value::Author SamplingAuthor() {
  static const value::Author author = value::InternAuthor("cudnn.spatial_sampler");
  return author;
}

double CountOf(const Picture& picture) {
  double count = 1;
  for (const std::int64_t dim : picture.dims) count *= static_cast<double>(dim);
  return count;
}

// Elements from the first to the last, gaps included.
double ExtentOf(const Picture& picture) {
  double last = 0;
  for (std::size_t i = 0; i < picture.dims.size(); ++i) {
    if (picture.strides[i] < 0) return kMostSampledElements + 1;
    last += static_cast<double>(picture.dims[i] - 1) * static_cast<double>(picture.strides[i]);
  }
  return last + 1;
}

class DeferredSampling : public value::Deferred {
 public:
  explicit DeferredSampling(const Sampling& sampling)
      : s_(sampling), width_(BytesOf(sampling.type)) {}

  void Perform(value::Store& store) override {
    const auto [batch, channels, height, width] = s_.output.dims;
    const auto extent = static_cast<std::size_t>(ExtentOf(s_.output));
    const auto points = static_cast<std::size_t>(batch * height * width);
    const auto grid = Load(s_.grid, points * 2, store);
    const auto input = Load(s_.input.address, static_cast<std::size_t>(ExtentOf(s_.input)), store);
    const bool has_nan = grid && std::ranges::any_of(*grid, [](double x) { return std::isnan(x); });
    if (!grid || !input || has_nan) {
      return store.Forget(s_.output.address, extent * width_, SamplingAuthor());
    }
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t h = 0; h < height; ++h) {
        for (std::int64_t w = 0; w < width; ++w) {
          const double* const point =
              &(*grid)[static_cast<std::size_t>(((b * height + h) * width + w) * 2)];
          for (std::int64_t c = 0; c < channels; ++c) {
            Write({b, c, h, w}, Sample(*input, b, c, {point[0], point[1]}), store);
          }
        }
      }
    }
  }

 private:
  struct Point {
    double x, y;
  };

  std::optional<std::vector<double>> Load(std::uint64_t address, std::size_t count,
                                          const value::Store& store) const {
    if (!store.IsKnown(address, count * width_)) return std::nullopt;
    std::vector<unsigned char> bytes(count * width_);
    store.Read(address, bytes.data(), bytes.size());
    std::vector<double> numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = ReadNumber(&bytes[i * width_], s_.type).real();
    }
    return numbers;
  }

  double Sample(const std::vector<double>& input, std::int64_t b, std::int64_t c,
                const Point& point) const {
    const std::int64_t height = s_.input.dims[2];
    const std::int64_t width = s_.input.dims[3];
    const double x = (point.x + 1) / 2 * static_cast<double>(width - 1);
    const double y = (point.y + 1) / 2 * static_cast<double>(height - 1);
    // Nothing is that far out, and whole numbers end somewhere.
    if (!(std::fabs(x) <= 2 * kMostSampledElements) || !(std::fabs(y) <= 2 * kMostSampledElements))
      return 0;
    const auto left = static_cast<std::int64_t>(std::floor(x));
    const auto top = static_cast<std::int64_t>(std::floor(y));
    double sum = 0;
    for (std::int64_t row = top; row <= top + 1; ++row) {
      for (std::int64_t col = left; col <= left + 1; ++col) {
        if (row < 0 || row >= height || col < 0 || col >= width) continue;
        const double weight = (1 - std::fabs(x - static_cast<double>(col))) *
                              (1 - std::fabs(y - static_cast<double>(row)));
        sum += weight * input[IndexOf(s_.input, {b, c, row, col})];
      }
    }
    return sum;
  }

  static std::size_t IndexOf(const Picture& picture, const std::array<std::int64_t, 4>& at) {
    std::int64_t index = 0;
    for (std::size_t i = 0; i < at.size(); ++i) index += at[i] * picture.strides[i];
    return static_cast<std::size_t>(index);
  }

  void Write(const std::array<std::int64_t, 4>& at, double number, value::Store& store) const {
    unsigned char bytes[16];
    WriteNumber(number, s_.type, bytes);
    store.Write(s_.output.address + IndexOf(s_.output, at) * width_, bytes, width_);
  }

  const Sampling s_;
  const std::size_t width_;
};

}  // namespace

bool IsSmall(const Sampling& s) noexcept {
  if (s.type != Element::kHalf && s.type != Element::kBfloat && s.type != Element::kFloat &&
      s.type != Element::kDouble) {
    return false;
  }
  return std::ranges::all_of(std::array{&s.input, &s.output}, [](const Picture* picture) {
    return CountOf(*picture) <= kMostSampledElements && ExtentOf(*picture) <= kMostSampledElements;
  });
}

void Record(const Sampling& sampling) {
  value::ProcessPending().Defer(std::make_unique<DeferredSampling>(sampling));
}

}  // namespace eidolon::shim::compute
