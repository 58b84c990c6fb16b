// Published times of kernels of one GPU and family: what a file of kernel_profiles/ holds.
//
// A file is text, compressed by zstd, written by fit/kernel_profiles.py:
//
//   eidolon-kernel-rows 1               version; another one is refused
//   gpu H100-SXM5-80GB                  name of the GPU model
//   family attention
//   roof 3350 794500 1980               bandwidth in GB/s, sustained rate in GFLOP/s, clock in MHz
//   source ..., licence ...             where the numbers come from; not read
//   table prefill STACK:KERNEL bf16 bf16 128 0    the kernel and what its shapes have in common
//   last 1 16 32 64                     the last size of a shape
//   32 8 1:2300 12 - 8                  the other sizes, then a time for each of the last sizes
//
// A time is in steps of half a percent: 200 times the logarithm of nanoseconds, as difference from
// the time before it in the line (the first one from 0); "-" is a shape without a time. Which
// sizes a shape has: kernel_class.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::timing::model {

struct KernelTable {
  std::string name;                // What follows "table".
  std::size_t columns = 0;         // Sizes of a shape.
  std::vector<float> sizes;        // Those of all shapes, one shape after another.
  std::vector<float> log_seconds;  // One a shape.

  std::size_t size() const { return log_seconds.size(); }
  std::span<const float> Shape(std::size_t i) const {
    return std::span(sizes).subspan(i * columns, columns);
  }
};

struct KernelRows {
  std::string gpu;
  std::string family;
  double bandwidth = 0;  // Bytes per second.
  double rate = 0;       // Operations per second in BF16.
  double clock = 0;      // Boost clock in Hz.
  std::vector<KernelTable> tables;
};

// `text` is decompressed.
base::Result<KernelRows> ParseKernelRows(std::string_view text);

}  // namespace eidolon::timing::model
