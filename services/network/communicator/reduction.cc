// Values must not differ between two runs, nor with the algorithm that NCCL would choose, so each
// element is combined in rank order and rounded once. The last bits may therefore differ from those
// of a real ring, which adds in another order. Buffers are byte strings without alignment, hence
// Load and Store copy. Formats below 32 bits are decoded to double and encoded again. An unknown
// type, or an operator that the program made, yields no result, and its readers get an unknown
// value.
#include "services/network/communicator/reduction.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "services/base/small_float.h"
#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {
namespace {

template <typename T>
T Load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at * sizeof(T), &value, sizeof(T));
}

// Integers wrap around as the GPU's do; an average divides the wrapped sum.
template <typename T>
T CombineIntegers(std::uint32_t reduction, std::span<const std::string_view> inputs,
                  std::size_t at) {
  using Wrapping = std::make_unsigned_t<T>;
  // Unsigned and of 32 bits or more: narrower types promote to int, whose products could overflow.
  using Work = std::conditional_t<sizeof(T) < 4, std::uint32_t, Wrapping>;
  T result = Load<T>(inputs[0], at);
  for (std::string_view input : inputs.subspan(1)) {
    const T next = Load<T>(input, at);
    switch (reduction) {
      case kProduct:
        result = static_cast<T>(
            static_cast<Wrapping>(static_cast<Work>(result) * static_cast<Work>(next)));
        break;
      case kMaximum:
        result = std::max(result, next);
        break;
      case kMinimum:
        result = std::min(result, next);
        break;
      default:
        result = static_cast<T>(
            static_cast<Wrapping>(static_cast<Work>(result) + static_cast<Work>(next)));
    }
  }
  if (reduction != kAverage) return result;
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(result / static_cast<std::int64_t>(inputs.size()));
  } else {
    return static_cast<T>(result / static_cast<std::uint64_t>(inputs.size()));
  }
}

// NaN wins, as in CUDA's fmax and fmin of reductions with NaN propagation.
double Choose(double a, double b, bool largest) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  return largest ? std::max(a, b) : std::min(a, b);
}

template <typename Decoder>
double CombineReals(std::uint32_t reduction, std::span<const std::string_view> inputs,
                    const Decoder& decode) {
  double result = decode(inputs[0]);
  for (std::string_view input : inputs.subspan(1)) {
    const double next = decode(input);
    switch (reduction) {
      case kProduct:
        result *= next;
        break;
      case kMaximum:
        result = Choose(result, next, true);
        break;
      case kMinimum:
        result = Choose(result, next, false);
        break;
      default:
        result += next;
    }
  }
  return reduction == kAverage ? result / static_cast<double>(inputs.size()) : result;
}

template <typename T>
void CombineAllIntegers(std::uint32_t reduction, std::span<const std::string_view> inputs,
                        std::string& result) {
  for (std::size_t at = 0; at < result.size() / sizeof(T); ++at) {
    Store<T>(result, at, CombineIntegers<T>(reduction, inputs, at));
  }
}

template <typename T>
void CombineAllReals(std::uint32_t reduction, std::span<const std::string_view> inputs,
                     std::string& result) {
  for (std::size_t at = 0; at < result.size() / sizeof(T); ++at) {
    const double value = CombineReals(reduction, inputs, [at](std::string_view bytes) {
      return static_cast<double>(Load<T>(bytes, at));
    });
    Store<T>(result, at, static_cast<T>(value));
  }
}

template <typename Bits>
void CombineAllSmall(base::SmallFloat format, std::uint32_t reduction,
                     std::span<const std::string_view> inputs, std::string& result) {
  for (std::size_t at = 0; at < result.size() / sizeof(Bits); ++at) {
    const double value = CombineReals(reduction, inputs, [at, format](std::string_view bytes) {
      return base::Decode(format, Load<Bits>(bytes, at));
    });
    Store<Bits>(result, at, static_cast<Bits>(base::Encode(format, value)));
  }
}

}  // namespace

std::string_view ReductionName(std::uint32_t reduction) {
  switch (reduction) {
    case kSum:
      return "sum";
    case kProduct:
      return "product";
    case kMaximum:
      return "max";
    case kMinimum:
      return "min";
    case kAverage:
      return "average";
    default:
      return "custom";
  }
}

std::optional<std::string> Combine(std::uint32_t type, std::uint32_t reduction,
                                   std::span<const std::string_view> inputs) {
  const std::uint32_t width = ElementBytes(type);
  if (inputs.empty() || width == 0 || reduction > kAverage) return std::nullopt;
  const std::size_t size = inputs[0].size();
  if (size % width != 0) return std::nullopt;
  for (std::string_view input : inputs) {
    if (input.size() != size) return std::nullopt;
  }
  std::string result(size, '\0');
  switch (type) {
    case kInt8:
      CombineAllIntegers<std::int8_t>(reduction, inputs, result);
      break;
    case kUint8:
      CombineAllIntegers<std::uint8_t>(reduction, inputs, result);
      break;
    case kInt32:
      CombineAllIntegers<std::int32_t>(reduction, inputs, result);
      break;
    case kUint32:
      CombineAllIntegers<std::uint32_t>(reduction, inputs, result);
      break;
    case kInt64:
      CombineAllIntegers<std::int64_t>(reduction, inputs, result);
      break;
    case kUint64:
      CombineAllIntegers<std::uint64_t>(reduction, inputs, result);
      break;
    case kFloat16:
      CombineAllSmall<std::uint16_t>(base::kHalf, reduction, inputs, result);
      break;
    case kBfloat16:
      CombineAllSmall<std::uint16_t>(base::kBrain, reduction, inputs, result);
      break;
    case kFloat8E4m3:
      CombineAllSmall<std::uint8_t>(base::kE4m3, reduction, inputs, result);
      break;
    case kFloat8E5m2:
      CombineAllSmall<std::uint8_t>(base::kE5m2, reduction, inputs, result);
      break;
    case kFloat32:
      CombineAllReals<float>(reduction, inputs, result);
      break;
    case kFloat64:
      CombineAllReals<double>(reduction, inputs, result);
      break;
    default:
      return std::nullopt;
  }
  return result;
}

}  // namespace eidolon::network::communicator
