// Growth of a GEMM's time with its sizes, on the grid of octaves that the published
// tables cover. Libraries do not always keep it: cuBLAS chooses slow kernels for some small
// GEMMs (FP8 on H100 takes up to a third longer for half the work), so that a surface which
// never shrinks would miss such a table by several percent. How far and up to which time the known
// GEMMs shrink is measured, and the surface may do no worse.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace eidolon::timing::model {

struct GemmSample {
  double batch = 1;
  double m = 1;  // Row-major order.
  double n = 1;
  double k = 1;
  double seconds = 0;
};

// Growth of GEMMs of which none is larger than the other in no size: the larger one takes at least
// (1 - dip) of the time of the smaller one, and as long at least where that takes more than
// `grows_from` seconds. Without a dip time grows everywhere.
struct Growth {
  double dip = 0;
  double grows_from = 0;
};

// Measures the growth of the samples. Each sample has a dip: the largest fall from it to a larger
// GEMM. `dip` is the second largest of these, because one sample alone may be an outlier;
// `grows_from` is the longest time with a dip of more than three hundredths, below which it is
// noise. Requires: one sample a shape, repetitions averaged.
Growth MeasureGrowth(const std::vector<GemmSample>& samples);

// Logarithms of seconds on the grid of 3 batches (1, 2, 4) and 5 octaves of m, n and k.
class GemmGrid {
 public:
  static constexpr double kSizeMin = 256;
  static constexpr double kSizeMax = 4096;
  static constexpr double kBatchMax = 4;
  static constexpr std::size_t kSizes = 5;
  static constexpr std::size_t kBatches = 3;
  static constexpr std::size_t kCells = kBatches * kSizes * kSizes * kSizes;
  static constexpr std::array<std::size_t, 4> kStrides = {kSizes * kSizes * kSizes, kSizes* kSizes,
                                                          kSizes, 1};
  static constexpr std::array<std::size_t, 4> kCounts = {kBatches, kSizes, kSizes, kSizes};

  GemmGrid() : cells_(kCells) {}

  double& operator[](std::size_t cell) { return cells_[cell]; }
  double operator[](std::size_t cell) const { return cells_[cell]; }
  // Steps from the grid's first cell along an axis: batch, m, n, k.
  static std::size_t Steps(std::size_t cell, std::size_t axis) {
    return cell / kStrides[axis] % kCounts[axis];
  }
  // The shape of a cell, without seconds.
  static GemmSample ShapeOf(std::size_t cell);

  // Between the cells by logarithms of sizes; sizes beyond the grid are taken as its edge.
  double Seconds(const GemmSample& shape) const;

  // The nearest values, by squares, that grow along every axis.
  GemmGrid Growing() const;
  // These values where `growing`, which is Growing(), takes less than `growth.grows_from`, no
  // longer than that and raised to what the dip allows; `growing` elsewhere.
  GemmGrid Dipping(const GemmGrid& growing, const Growth& growth) const;
  // Raises each cell to (1 - dip) of the longest one of `other` that is larger in no size.
  void KeepAbove(const GemmGrid& other, double dip);
  // The longest time of a hypercube of cells with a corner where this is not `growing`; 0: none.
  double DifferentUpTo(const GemmGrid& growing) const;

 private:
  std::vector<double> cells_;
};

}  // namespace eidolon::timing::model
