// Seconds of a GEMM over (batch, m, n, k) of one GPU and type: a Gaussian process over a
// formula of tiles and waves, evaluated once on a grid of octaves, made to grow in every size as
// far as the measurements do, and read by interpolation.
#pragma once

#include <vector>

#include "services/timing/model/gaussian_process.h"
#include "services/timing/model/gemm_grid.h"

namespace eidolon::timing::model {

// Hardware and type with which the samples were measured.
struct GemmHardware {
  double multiprocessors = 0;
  double bandwidth = 0;  // Bytes per second.
  double rate = 0;       // Sustained operations per second.
  double input_bytes = 2;
  double output_bytes = 2;
};

// Of the bandwidth, by judgement; fit/fit_gemm.py has it, too.
inline constexpr double kGemmAttained = 0.9;

// Seconds by tiles and waves alone: the best of the usual tile shapes, whole waves of them, against
// the bytes at the bandwidth that is attained. Grows in every size.
double TileSeconds(const GemmHardware& hardware, const GemmSample& shape);

// What a surface is fitted with: processes whose mean it is, a rough and a smooth one.
struct GemmScales {
  std::vector<GaussianScales> processes;
  Growth growth;
};

// Immutable; safe from any thread.
class GemmSurface {
 public:
  // Requires: samples not empty. Samples of one shape are averaged (FP8's mixes of formats).
  GemmSurface(const GemmHardware& hardware, const std::vector<GemmSample>& samples,
              const GemmScales& scales);

  // Sizes beyond the grid are taken as its edge. The sample's own seconds are not read.
  double Seconds(const GemmSample& shape) const { return surface_.Seconds(shape); }
  // The nearest surface that grows in every size: what other GPUs and sizes follow from, because a
  // library's slow choice for one GEMM says nothing of them.
  double GrowingSeconds(const GemmSample& shape) const { return growing_.Seconds(shape); }
  // Returns how far Seconds may fall, also between a shape's Seconds and a larger one's
  // GrowingSeconds.
  const Growth& growth() const { return growth_; }

  static constexpr double kSizeMin = GemmGrid::kSizeMin;
  static constexpr double kSizeMax = GemmGrid::kSizeMax;
  static constexpr double kBatchMax = GemmGrid::kBatchMax;

 private:
  GemmGrid surface_;
  GemmGrid growing_;
  Growth growth_;
};

// Returns what makes the samples most likely, in `steps` of search at most. Twice: with noise alike
// for all, and with more of it for GEMMs that mostly wait; what foretells left-out samples better
// stays. A dip is allowed only where fifths of the samples are foretold clearly better with it.
GemmScales FitGemmScales(const GemmHardware& hardware, const std::vector<GemmSample>& samples,
                         int steps);

}  // namespace eidolon::timing::model
