// Seconds of a matrix product over (batch, m, n, k) of one GPU and type: a Gaussian process over a
// formula of tiles and waves, evaluated once on a grid of octaves, made to grow in every size,
// and read by interpolation.
#pragma once

#include <array>
#include <vector>

#include "services/timing/model/gaussian_process.h"

namespace eidolon::timing::model {

struct GemmSample {
  double batch = 1;
  double m = 1;  // Row-major order.
  double n = 1;
  double k = 1;
  double seconds = 0;
};

// Where and of what the samples were measured.
struct GemmHardware {
  double multiprocessors = 0;
  double bandwidth = 0;  // Bytes per second.
  double rate = 0;       // Sustained operations per second.
  double input_bytes = 2;
  double output_bytes = 2;
};

// Seconds by tiles and waves alone: the best of the usual tile shapes, whole waves of them, against
// the bytes at nine tenths of the bandwidth. Grows in every size.
double TileSeconds(const GemmHardware& hardware, const GemmSample& shape);

// Immutable; safe from any thread.
class GemmSurface {
 public:
  // Requires: samples not empty. Samples of one shape are averaged (FP8's mixes of formats).
  GemmSurface(const GemmHardware& hardware, const std::vector<GemmSample>& samples,
              const GaussianScales& scales);

  // Sizes beyond the grid are taken as its edge. The sample's own seconds are not read.
  double Seconds(const GemmSample& shape) const;

  static constexpr double kSizeMin = 256;
  static constexpr double kSizeMax = 4096;
  static constexpr double kBatchMax = 4;

 private:
  static constexpr std::size_t kSizes = 5;  // Octaves of 256 to 4096.
  static constexpr std::size_t kBatches = 3;

  static std::size_t Cell(std::size_t b, std::size_t m, std::size_t n, std::size_t k) {
    return ((b * kSizes + m) * kSizes + n) * kSizes + k;
  }
  void MakeMonotone();

  std::vector<double> log_seconds_;
};

// What makes the samples most likely. Minutes of work are left out by `steps`: 120 take seconds.
GaussianScales FitGemmScales(const GemmHardware& hardware, const std::vector<GemmSample>& samples,
                             int steps);

}  // namespace eidolon::timing::model
