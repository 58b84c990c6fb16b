// Published times of GEMMs of one GPU and type: what a profile file of profiles/ holds.
//
// A file is text, compressed by zstd, written by fit/gemm_profiles.py:
//
//   eidolon-gemm-rows 1                 version; another one is refused
//   gpu H100-SXM5-80GB                  name of the GPU model
//   type bf16
//   kernel torch.nn.functional.linear   which calls the times are of
//   roof 3350 794500 1980               bandwidth in GB/s, sustained rate in GFLOP/s, clock in MHz
//   source ..., licence ..., stacks ... where the numbers come from; not read
//   m 1 2 4 8                           sizes, rising; likewise n and k
//   rows
//   2.6:1 2.7:0 - 2.9:3                 for each n, for each k: a line of all m
//
// A time is in microseconds, with its standard deviation between stacks in percent (0: one stack);
// "-" is a shape without a time. What the times mean is in
// docs/reference/generated/kernel_times.md.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::timing::model {

// One cell for each m, n and k, those of one n and k side by side.
struct GemmRows {
  std::string gpu;
  std::string type;
  std::string kernel;
  double bandwidth = 0;                     // Bytes per second.
  double rate = 0;                          // Operations per second.
  double clock = 0;                         // Boost clock in Hz.
  std::array<std::vector<double>, 3> axes;  // m, n, k.
  std::vector<float> microseconds;          // 0: not measured.
  std::vector<float> spread;                // Relative.

  std::size_t cells() const { return axes[0].size() * axes[1].size() * axes[2].size(); }
  // Returns the distance from one cell to the next along an axis.
  std::size_t Stride(std::size_t axis) const;
  // Place of the cell on an axis.
  std::size_t Step(std::size_t cell, std::size_t axis) const {
    return cell / Stride(axis) % axes[axis].size();
  }
  double SizeOf(std::size_t cell, std::size_t axis) const { return axes[axis][Step(cell, axis)]; }
  std::size_t measured() const;
};

// `text` is decompressed.
base::Result<GemmRows> ParseGemmRows(std::string_view text);

}  // namespace eidolon::timing::model
