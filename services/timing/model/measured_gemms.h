// Seconds of a GEMM of one GPU and type from published rows (gemm_rows.h): the rows where they are
// known, between their neighbours elsewhere. Increasing in every size.
//
// Rows lie on a grid of m, n and k, of which a part is missing. A missing cell lies between the
// measured ones along each axis, by logarithms, as ratio to a roofline (gemm_gaps.h). Then all
// cells are made to grow along every axis, which moves measured ones by about as much as software
// stacks differ (docs/reference/generated/kernel_times.md), and are read by interpolation.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "services/timing/model/gemm_rows.h"

namespace eidolon::timing::model {

// Limits that GEMMs of a GPU and type cannot exceed.
struct GemmRoof {
  double bandwidth = 0;  // Bytes per second.
  double rate = 0;       // Sustained operations per second.
  double clock = 1e9;    // Hz.
  double input_bytes = 2;
  double output_bytes = 2;
};

// Operations against bytes, rounded off where both count, and 2000 clocks to start and end with.
// Grows in every size.
double RoofSeconds(const GemmRoof& roof, double m, double n, double k);

// Times of a grid of sizes that were not measured, in the order of GemmRows.
struct GemmCells {
  std::array<std::vector<double>, 3> sizes;  // m, n, k.
  std::vector<float> log_seconds;
  std::vector<float> errors;  // Relative.

  std::size_t count() const { return sizes[0].size() * sizes[1].size() * sizes[2].size(); }
  // Returns the distance from one cell to the next along an axis.
  std::size_t Stride(std::size_t axis) const;
};

// Immutable; safe from any thread.
class MeasuredGemms {
 public:
  explicit MeasuredGemms(const GemmRows& rows);
  // For the same GPU at another clock: each cell times the ratio of both roofs.
  MeasuredGemms(const MeasuredGemms& reference_gpu, const GemmRoof& roof);
  // Makes the GEMMs of another GPU, from what was carried to it.
  MeasuredGemms(const GemmRoof& roof, const GemmCells& carried);

  const GemmRoof& roof() const { return roof_; }
  // Returns the sizes of the grid: m, n, k.
  const std::array<std::vector<double>, 3>& sizes() const { return sizes_; }

  struct Answer {
    double seconds = 0;
    double relative_error = 0;
    bool inside = false;    // Between the smallest and the largest measured sizes.
    bool measured = false;  // A row, which growth has hardly moved.
  };
  // Beyond the grid the roofs' ratio stands in, below it the grid's edge.
  Answer Read(double m, double n, double k) const;

 private:
  struct Cell {
    float log_seconds = 0;
    float error = 0;
    bool measured = false;
  };
  // Cell below and share of the next one.
  struct Place {
    std::size_t below = 0;
    double share = 0;
  };

  std::size_t Stride(std::size_t axis) const;
  Place Locate(std::size_t axis, double size) const;
  double Size(std::size_t cell, std::size_t axis) const;
  double LogRoof(const GemmRoof& roof, std::size_t cell) const;
  // Puts sizes into wide gaps, with the neighbours' ratio to the roof, which bends where a GEMM
  // begins to be bound by something else; a straight line would not.
  void AddSizes();
  void AddSize(std::size_t axis, std::size_t after);
  void Grow();

  GemmRoof roof_;
  std::array<std::vector<double>, 3> sizes_;  // m, n, k.
  std::array<std::vector<double>, 3> logs_;
  std::vector<Cell> cells_;
};

}  // namespace eidolon::timing::model
