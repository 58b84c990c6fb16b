// Measures how well attention, fused experts and quantised GEMMs follow from published rows that do
// not hold them: tables of docs/reference/generated/kernel_times.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::fit {

// Errors of one GPU, phase, kernel and types, over all head sizes, windows and distributions.
struct PublishedErrors {
  std::string gpu;
  std::string what;  // Phase, kernel and types.
  std::string from;  // What is known: other rows, or another GPU's.
  std::size_t tables = 0;
  std::size_t rows = 0;
  double mean = 0;  // Absolute relative errors, shares.
  double median = 0;
  double p95 = 0;
  double bias = 0;    // Mean of the signed ones.
  double stated = 0;  // Mean of the error that the model itself states.
};

// One row in five of each table, from the others; of large tables a part. Of `family` ("attention",
// "moe" or "gemm"), and of `gpu` unless that is empty.
std::vector<PublishedErrors> HeldOutKernels(std::string_view family, std::string_view gpu);
// Rows of each GPU from those of another one and both model files.
std::vector<PublishedErrors> CarriedKernels(const gpu_model::GpuCatalog& catalog,
                                            std::string_view family);
// Rows of a file "gpu,kernel,sizes,microseconds" as the model predicts them; kernel and sizes are
// words as in kernel_class.h: "H100-SXM5-80GB,decode STACK:KERNEL bf16 bf16 128 0,32 8 64 4095,71".
base::Result<std::vector<PublishedErrors>> KernelsOfFile(const gpu_model::GpuCatalog& catalog,
                                                         std::string_view csv);

// Markdown.
std::string FormatPublished(const std::vector<PublishedErrors>& errors);

}  // namespace eidolon::timing::fit
