// Batch normalisations of a library, computed: small ones, of known values, when somebody looks. In
// double precision, rounded once to the results' types.
#pragma once

#include <array>
#include <cstdint>

#include "shim/value/compute/number.h"

namespace eidolon::shim::compute {

enum class BatchNormPass : std::uint8_t { kTraining, kInference, kBackward };

// Batch, channels, and up to three dimensions that a channel's statistics run over with the batch.
using VolumeDims = std::array<std::int64_t, 5>;

struct Volume {
  std::uint64_t address = 0;
  VolumeDims strides{};  // In elements.
};

// Addresses are zero where the call gave none.
struct BatchNorm {
  BatchNormPass pass = BatchNormPass::kTraining;
  Element type = Element::kNone;        // Of the volumes.
  Element parameters = Element::kNone;  // Of all that has one number for each channel.
  VolumeDims dims{};
  double epsilon = 0;
  double momentum = 0;  // Share of this batch in the running statistics.
  Volume input, output;
  Volume gradient;  // Of the output; kBackward, whose `output` is the gradient of the input.
  std::uint64_t scale = 0, bias = 0;
  // kTraining changes them. kInference reads them.
  std::uint64_t running_mean = 0, running_variance = 0;
  // Written by kTraining, read by kBackward; the second is that of the reciprocal deviation.
  std::uint64_t saved_mean = 0, saved_deviation = 0;
  std::uint64_t scale_gradient = 0, bias_gradient = 0;  // Written by kBackward.
};

// Can be computed with: real numbers, few enough. Requires: dimensions are positive.
bool IsSmall(const BatchNorm& norm) noexcept;

// Puts it into the order of value operations: results get their values when all that they depend on
// is known, and else become unknown. Requires: small.
void Record(const BatchNorm& norm);

}  // namespace eidolon::shim::compute
