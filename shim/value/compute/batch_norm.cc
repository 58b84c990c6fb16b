// Formulas: Ioffe and Szegedy, "Batch Normalization" (2015), section 3. The output is normalised
// with the biased variance of the batch, while the running variance moves towards the unbiased one,
// n / (n - 1) times as much. In the backward pass, with x^ for the normalised input and n for the
// elements of a channel, the gradient of the input is scale * deviation * (dy - sum(dy) / n - x^ *
// sum(dy * x^) / n), where `deviation` is the reciprocal of the standard deviation, as the library
// saves it.
//
// Every path writes or forgets each of its outputs: one that is left out would keep the known bytes
// of an earlier step. The limit on elements counts the gaps between strides, because they are
// loaded too.
#include "shim/value/compute/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr double kMostNormalisedElements = 1 << 18;

value::Author BatchNormAuthor() {
  static const value::Author author = value::InternAuthor("cudnn.batch_norm");
  return author;
}

// Elements from the first to the last, gaps included.
double ExtentOf(const VolumeDims& dims, const VolumeDims& strides) {
  double last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (strides[i] < 0) return kMostNormalisedElements + 1;
    last += static_cast<double>(dims[i] - 1) * static_cast<double>(strides[i]);
  }
  return last + 1;
}

bool IsReal(Element type) {
  return type == Element::kHalf || type == Element::kBfloat || type == Element::kFloat ||
         type == Element::kDouble;
}

using Numbers = std::vector<double>;

class DeferredBatchNorm : public value::Deferred {
 public:
  explicit DeferredBatchNorm(const BatchNorm& norm)
      : n_(norm),
        channels_(static_cast<std::size_t>(norm.dims[1])),
        count_(static_cast<double>(norm.dims[0] * norm.dims[2] * norm.dims[3] * norm.dims[4])) {}

  void Perform(value::Store& store) override {
    switch (n_.pass) {
      case BatchNormPass::kTraining:
        return Train(store);
      case BatchNormPass::kInference:
        return Infer(store);
      case BatchNormPass::kBackward:
        return GoBack(store);
    }
  }

 private:
  struct Statistics {
    Numbers mean, variance;
  };

  void Train(value::Store& store) const {
    const auto x = LoadVolume(n_.input, store);
    if (!x) {
      Forget(n_.output, store);
      for (const std::uint64_t each :
           {n_.saved_mean, n_.saved_deviation, n_.running_mean, n_.running_variance}) {
        Forget(each, store);
      }
      return;
    }
    const Statistics batch = StatisticsOf(*x);
    WriteNormalised(*x, batch, store);
    Numbers deviation(channels_);
    for (std::size_t c = 0; c < channels_; ++c) deviation[c] = DeviationOf(batch, c);
    Write(n_.saved_mean, batch.mean, store);
    Write(n_.saved_deviation, deviation, store);
    Move(n_.running_mean, batch.mean, 1, store);
    Move(n_.running_variance, batch.variance, count_ > 1 ? count_ / (count_ - 1) : 1, store);
  }

  void Infer(value::Store& store) const {
    const auto x = LoadVolume(n_.input, store);
    const auto mean = Load(n_.running_mean, store);
    const auto variance = Load(n_.running_variance, store);
    if (!x || !mean || !variance) return Forget(n_.output, store);
    WriteNormalised(*x, {*mean, *variance}, store);
  }

  void GoBack(value::Store& store) const {
    const auto x = LoadVolume(n_.input, store);
    const auto dy = LoadVolume(n_.gradient, store);
    std::optional<Numbers> mean = Load(n_.saved_mean, store);
    std::optional<Numbers> deviation = Load(n_.saved_deviation, store);
    if (!x || !dy || !mean || !deviation) {
      Forget(n_.output, store);
      Forget(n_.scale_gradient, store);
      return Forget(n_.bias_gradient, store);
    }
    Numbers of_bias(channels_), of_scale(channels_);
    ForEach([&](std::size_t c, const VolumeDims& at) {
      const double gradient = (*dy)[IndexOf(n_.gradient, at)];
      of_bias[c] += gradient;
      of_scale[c] += gradient * ((*x)[IndexOf(n_.input, at)] - (*mean)[c]) * (*deviation)[c];
    });
    Write(n_.scale_gradient, of_scale, store);
    Write(n_.bias_gradient, of_bias, store);
    const auto scale = Load(n_.scale, store);
    if (!scale) return Forget(n_.output, store);
    ForEach([&](std::size_t c, const VolumeDims& at) {
      const double distance =
          ((*x)[IndexOf(n_.input, at)] - (*mean)[c]) * (*deviation)[c] * of_scale[c] / count_;
      const double rest = (*dy)[IndexOf(n_.gradient, at)] - of_bias[c] / count_ - distance;
      WriteAt(at, (*scale)[c] * (*deviation)[c] * rest, store);
    });
  }

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    VolumeDims at{};
    const auto& [batch, channels, depth, height, width] = n_.dims;
    for (at[0] = 0; at[0] < batch; ++at[0]) {
      for (at[1] = 0; at[1] < channels; ++at[1]) {
        for (at[2] = 0; at[2] < depth; ++at[2]) {
          for (at[3] = 0; at[3] < height; ++at[3]) {
            for (at[4] = 0; at[4] < width; ++at[4]) visit(static_cast<std::size_t>(at[1]), at);
          }
        }
      }
    }
  }

  Statistics StatisticsOf(const Numbers& x) const {
    Statistics result{Numbers(channels_), Numbers(channels_)};
    ForEach([&](std::size_t c, const VolumeDims& at) {
      result.mean[c] += x[IndexOf(n_.input, at)] / count_;
    });
    ForEach([&](std::size_t c, const VolumeDims& at) {
      const double distance = x[IndexOf(n_.input, at)] - result.mean[c];
      result.variance[c] += distance * distance / count_;
    });
    return result;
  }

  double DeviationOf(const Statistics& statistics, std::size_t c) const {
    return 1 / std::sqrt(statistics.variance[c] + n_.epsilon);
  }

  void WriteNormalised(const Numbers& x, const Statistics& of, value::Store& store) const {
    const auto scale = Load(n_.scale, store);
    const auto bias = Load(n_.bias, store);
    if (!scale || !bias) return Forget(n_.output, store);
    ForEach([&](std::size_t c, const VolumeDims& at) {
      const double distance = x[IndexOf(n_.input, at)] - of.mean[c];
      WriteAt(at, distance * DeviationOf(of, c) * (*scale)[c] + (*bias)[c], store);
    });
  }

  // A running statistic moves towards the batch's.
  void Move(std::uint64_t address, const Numbers& batch, double factor, value::Store& store) const {
    auto running = Load(address, store);
    if (!running) return Forget(address, store);
    for (std::size_t c = 0; c < channels_; ++c) {
      (*running)[c] = (1 - n_.momentum) * (*running)[c] + n_.momentum * factor * batch[c];
    }
    Write(address, *running, store);
  }

  static std::size_t IndexOf(const Volume& volume, const VolumeDims& at) {
    std::int64_t index = 0;
    for (std::size_t i = 0; i < at.size(); ++i) index += at[i] * volume.strides[i];
    return static_cast<std::size_t>(index);
  }

  static std::optional<Numbers> Load(std::uint64_t address, std::size_t count, Element type,
                                     const value::Store& store) {
    const std::size_t width = BytesOf(type);
    if (address == 0 || !store.IsKnown(address, count * width)) return std::nullopt;
    std::vector<unsigned char> bytes(count * width);
    store.Read(address, bytes.data(), bytes.size());
    Numbers numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = ReadNumber(&bytes[i * width], type).real();
    }
    return numbers;
  }
  std::optional<Numbers> LoadVolume(const Volume& volume, const value::Store& store) const {
    const double extent = ExtentOf(n_.dims, volume.strides);
    return Load(volume.address, static_cast<std::size_t>(extent), n_.type, store);
  }
  std::optional<Numbers> Load(std::uint64_t address, const value::Store& store) const {
    return Load(address, channels_, n_.parameters, store);
  }

  void WriteAt(const VolumeDims& at, double number, value::Store& store) const {
    unsigned char bytes[16];
    WriteNumber(number, n_.type, bytes);
    const std::size_t width = BytesOf(n_.type);
    store.Write(n_.output.address + IndexOf(n_.output, at) * width, bytes, width);
  }
  void Write(std::uint64_t address, const Numbers& numbers, value::Store& store) const {
    if (address == 0) return;
    const std::size_t width = BytesOf(n_.parameters);
    std::vector<unsigned char> bytes(numbers.size() * width);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      WriteNumber(numbers[i], n_.parameters, &bytes[i * width]);
    }
    store.Write(address, bytes.data(), bytes.size());
  }

  void Forget(const Volume& volume, value::Store& store) const {
    const double extent = ExtentOf(n_.dims, volume.strides);
    store.Forget(volume.address, static_cast<std::size_t>(extent) * BytesOf(n_.type),
                 BatchNormAuthor());
  }
  void Forget(std::uint64_t address, value::Store& store) const {
    if (address == 0) return;
    store.Forget(address, channels_ * BytesOf(n_.parameters), BatchNormAuthor());
  }

  const BatchNorm n_;
  const std::size_t channels_;
  const double count_;  // Of elements that a channel's statistics run over.
};

}  // namespace

bool IsSmall(const BatchNorm& norm) noexcept {
  if (!IsReal(norm.type) || !IsReal(norm.parameters)) return false;
  double count = 1;
  for (const std::int64_t dim : norm.dims) count *= static_cast<double>(dim);
  if (count > kMostNormalisedElements) return false;
  return std::ranges::all_of(
      std::array{&norm.input, &norm.output, &norm.gradient}, [&](const Volume* volume) {
        return ExtentOf(norm.dims, volume->strides) <= kMostNormalisedElements;
      });
}

void Record(const BatchNorm& norm) {
  value::ProcessPending().Defer(std::make_unique<DeferredBatchNorm>(norm));
}

}  // namespace eidolon::shim::compute
