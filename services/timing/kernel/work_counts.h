// Purpose of a piece of work, as far as its sizes show: the sums that reports need beside times.
#pragma once

#include <cstdint>
#include <optional>

#include "services/timing/kernel/kernel_name.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

// Rows of a table that are gathered by indices, as an embedding does. Where a compiler has fused
// the lookup, table_rows and row_bytes are 0, and `indices` counts the elements of all rows
// together.
struct Lookups {
  std::uint64_t indices = 0;
  std::uint64_t table_rows = 0;
  std::uint64_t row_bytes = 0;
  bool operator==(const Lookups&) const = default;
};

// A GEMM by a matrix of outputs x inputs, as a linear layer does: over how many rows.
struct GemmRows {
  std::uint64_t rows = 0;
  std::uint64_t outputs = 0;
  std::uint64_t inputs = 0;
};

// Counts, which go into no time.
struct WorkCounts {
  // Of matrix multiplications, convolutions and attention: a multiplication and an addition are two
  // operations, and what a mask leaves out does not count.
  double matrix_flops = 0;
  // Bytes of a step of an optimizer.
  double parameters = 0;
  double gradients = 0;
  double optimizer_state = 0;
  double bytes = 0;  // To and from device memory.
  std::optional<Lookups> lookups;
  std::optional<GemmRows> gemm;
};

// What a kernel over lists of tensors updates, where its functor is one of an optimizer and its
// tables are read: PyTorch's fused Adam, AdamW, SGD and Adagrad, those of apex with one element
// type, and the foreach kernels of which PyTorch's Adam consists (lerp: gradients and first
// moments; addcmul: second moments; addcdiv: parameters). Programs may use these foreach kernels
// for something else: whoever adds them up compares parameters with gradients.
std::optional<WorkCounts> OptimizerStep(const KernelLaunch& launch, const KernelName& name);

// Returns what PyTorch's kernels for index_select look up, by which embeddings are computed, or
// those of torch.compile that are named for an embedding.
std::optional<Lookups> TableLookups(const KernelLaunch& launch, const KernelName& name);

}  // namespace eidolon::timing::kernel
